// What the report's charts need of Vega, as `vega` in the page: parse, View, d3's ticks, and the interpreter that
// runs expressions without eval. The specifications are compiled Vega-Lite whose data lies in them, so of the
// transforms those are left out that such charts have no use for, and with them the one that loads data.
import { ticks } from "d3-array";
import { transforms } from "vega-dataflow";
import { axisticks, datajoin, encode, scale, sortitems } from "vega-encode";
import { expressionInterpreter } from "vega-interpreter";
import { parse } from "vega-parser";
import {
  aggregate, collect, compare, expression, extent, facet, field, filter, formula, joinaggregate, key, multiextent,
  multivalues, params, prefacet, proxy, relay, sieve, subflow, tupleindex, values, window as windowed,
} from "vega-transforms";
import { View } from "vega-view";
import { bound, mark, overlap, render, viewlayout } from "vega-view-transforms";

Object.assign(transforms, {
  aggregate, collect, compare, expression, extent, facet, field, filter, formula, joinaggregate, key, multiextent,
  multivalues, params, prefacet, proxy, relay, sieve, subflow, tupleindex, values, window: windowed,
  axisticks, datajoin, encode, scale, sortitems,
  bound, mark, overlap, render, viewlayout,
});

globalThis.vega = { View, expressionInterpreter, parse, ticks };
