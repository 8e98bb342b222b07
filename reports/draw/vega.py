"""Charts from templates: `templates/charts/<name>.vl.json` is a Vega-Lite specification that opens in a Vega editor as
it is, with sample data; `fill` puts the real data, domains, ticks and titles in, `draw` makes an SVG of it.

Every template names its data sets and draws `x` and `y` of each in chart units, with series by `series`. What is
in no template (colours by series, the theme) is put in here, in one place.
"""

from __future__ import annotations

import functools
import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import Any, Literal

from parsers.errors import UserError
from reports.draw import svg
from reports.draw.axes import Axis

VEGA_LITE = "5.20"
"""The Vega-Lite that draws; pinned, so that the same data gives the same picture with the next vl-convert."""

SERIES = ("#2B7BBF", "#D4620F", "#1B6B4A", "#6B2A6B")
ORDERED = ("#173A7A", "#6B35B5", "#A5508C", "#D63A35", "#C4872F")
BLUES = (SERIES[0], "#123D70", "#5A9AD6")
ORANGES = (SERIES[1], "#7A3404", "#E0883C")
"""A hue for what is of one kind, in shades for what differs within it: the colour of the palette, then a darker and a lighter one."""
GREY = "#7C8794"
"""Light colours of the palette; report.css gives each its dark twin."""

Spec = dict[str, Any]
Rows = list[dict[str, Any]]


Dash = bool | Literal["between"]
"""Is a line dashed? "between": where the gaps of those are that are dashed, so that both are seen where one lies on the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One line of a chart: its name in the data, its colour, and whether it is dashed (a part of a whole)."""

    name: str
    colour: str
    dashed: Dash = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """The picture's size and the margins around the plot, in px."""

    width: int
    height: int
    left: float
    right: float = 16
    top: float = 30
    bottom: float = 44

    @property
    def plot_width(self) -> float:
        return self.width - self.left - self.right

    @property
    def plot_height(self) -> float:
        return self.height - self.top - self.bottom


def ordered(n: int) -> tuple[str, ...]:
    """Return n colours, five at most, for levels that have an order: from dark blue to amber, as far apart as they can be."""
    return tuple(ORDERED[round(i * (len(ORDERED) - 1) / max(n - 1, 1))] for i in range(n))


def palette(n: int) -> tuple[str, ...]:
    """Return n colours: four hues, and grey for all beyond."""
    return SERIES[:n] + (GREY,) * max(0, n - len(SERIES))


@functools.cache
def _text(name: str) -> str:
    path = resources.files("reports") / "templates" / "charts" / name
    return path.read_text(encoding="utf-8")


def template(name: str) -> Spec:
    """Return a fresh copy of a chart template."""
    found: Spec = json.loads(_text(f"{name}.vl.json"))  # a third of the time of a deepcopy
    return found


def theme() -> Spec:
    """Return the Vega config that all charts share."""
    found: Spec = json.loads(_text("theme.json"))
    return found


def fill(
    name: str,
    *,
    frame: Frame,
    x: Axis,
    y: Axis,
    series: Sequence[Series],
    data: Mapping[str, Rows],
    x_start: float = 0,
) -> Spec:
    """Return the named template with this data: complete and standing on its own, without the theme.

    Data sets that the template has and `data` lacks become empty; the other way round is a bug. `x_start` is
    where the x axis begins in the plot (room for a slot to its left).
    """
    spec = template(name)
    if unknown := set(data) - set(spec["datasets"]):
        raise ValueError(f"{name}.vl.json has no data set {', '.join(sorted(unknown))}")
    spec["datasets"] = {key: data.get(key, []) for key in spec["datasets"]}
    spec["width"], spec["height"] = round(frame.plot_width, 1), round(frame.plot_height, 1)
    spec["autosize"] = {"type": "none"}
    spec["padding"] = {"left": frame.left, "right": frame.right, "top": frame.top, "bottom": frame.bottom}
    spec["usermeta"] = {
        "fine": {"x": [_texts(ticks) for ticks in x.fine], "y": [_texts(ticks) for ticks in y.fine]}
    }
    spec["layer"], spec["datasets"] = _barred(spec["layer"], spec["datasets"])
    spec["layer"] = _paired(spec["layer"], spec["datasets"])
    spec["layer"] = _hollowed(spec)
    encoding = spec["encoding"]
    _axis(encoding["x"], x)
    _axis(encoding["y"], y)
    if encoding["x"].get("axis"):
        encoding["x"]["axis"]["titleX"] = spec["width"]
    if encoding["y"].get("axis"):
        encoding["y"]["axis"]["titleX"] = -frame.left
    if x_start or "range" in encoding["x"].get("scale", {}):
        encoding["x"]["scale"]["range"] = [x_start, spec["width"]]
    if "color" in encoding:
        encoding["color"]["scale"] = {
            "domain": [s.name for s in series],
            "range": [s.colour for s in series],
        }
    return spec


_HOLLOW: dict[str, Spec] = {
    "point": {"style": "hollow"},
    "line": {"strokeDash": [2, 2]},
    "bar": {"filled": False, "strokeDash": [2, 2], "strokeWidth": 0.75},
    "rect": {"filled": False, "strokeDash": [2, 2], "strokeWidth": 0.75},
}
"""Kind of mark → what makes it hollow. Other marks (bars of ranges, stems) are not drawn of hollow rows; texts are as of all."""


def _hollowed(spec: Spec) -> list[Spec]:
    """Return the layers of a filled template, so that rows with `hollow` are drawn so: numbers that are shown and mean nothing. A line with
    points is not drawn through them."""
    marked = {name for name, rows in spec["datasets"].items() if any(row.get("hollow") for row in rows)}
    dotted = {layer["data"]["name"] for layer in spec["layer"] if layer["mark"]["type"] == "point"}
    layers = []
    for layer in spec["layer"]:
        name, mark = layer["data"]["name"], layer["mark"]
        if name not in marked or mark["type"] == "text":
            layers.append(layer)
            continue
        layers.append(_where("!datum.hollow", layer))
        if mark["type"] == "point" or (mark["type"] in _HOLLOW and name not in dotted):
            layers.append(_where("datum.hollow", {**layer, "mark": {**mark, **_HOLLOW[mark["type"]]}}))
    return layers


def _barred(layers: Sequence[Spec], datasets: Mapping[str, Rows]) -> tuple[list[Spec], dict[str, Rows]]:
    """Return the layers and the data so that of a band a part of one x, which has no width, is a bar (`alone`)."""
    out, data = [], dict(datasets)
    for layer in layers:
        name, encoding = layer["data"]["name"], layer.get("encoding", {})
        if layer["mark"]["type"] != "area" or encoding.get("detail", {}).get("field") != "segment":
            out.append(layer)
            continue
        parts = Counter(_part(row) for row in data[name] if not row.get("pair"))
        alone = [not row.get("pair") and parts[_part(row)] == 1 for row in data[name]]
        if not any(alone):
            out.append(layer)
            continue
        data[name] = [
            {**row, "alone": True} if own else row for row, own in zip(data[name], alone, strict=True)
        ]
        own = {key: of for key, of in encoding.items() if key not in ("detail", "order")}
        bar = {**layer, "mark": {"type": "rule", "style": "whisker"}, "encoding": own}
        out += [_where("!datum.alone", layer), _where("datum.alone", bar)]
    return out, data


def _part(row: Spec) -> tuple[Any, Any]:
    return row["series"], row["segment"]


def _paired(layers: Sequence[Spec], datasets: Mapping[str, Rows]) -> list[Spec]:
    """Return the layers so that a value of two repeats (`pair`) is two dots, neither a bar nor a dot where nothing was measured."""
    marked = {name for name, rows in datasets.items() if any(row.get("pair") for row in rows)}
    out = []
    for layer in layers:
        kind = layer["mark"]["type"]
        if layer["data"]["name"] not in marked or kind in ("line", "text"):
            out.append(layer)
            continue
        out.append(_where("!datum.pair", layer))
        dots: Spec = {**layer, "mark": {"type": "point", "style": "dot-pair"}}
        ends = _ends(layer) if kind in ("rule", "area") else ()
        out += [_where("datum.pair", {**dots, "encoding": end}) for end in ends]
    return out


def _ends(layer: Spec) -> Iterator[Spec]:
    """Yield the encodings of the lower and the upper end of a layer's ranges, along y or along x."""
    own = layer["encoding"]
    along = "y" if "y2" in own else "x"
    rest = {name: of for name, of in own.items() if name not in (along, f"{along}2", "detail", "order")}
    for field in (own[along]["field"], own[f"{along}2"]["field"]):
        yield {**rest, along: {"field": field, "type": "quantitative"}}


def _where(condition: str, layer: Spec) -> Spec:
    return {**layer, "transform": [{"filter": condition}, *layer.get("transform", [])]}


def _axis(channel: Spec, axis: Axis) -> None:
    channel["title"] = axis.title
    scale = channel.setdefault("scale", {})
    scale.update({"type": axis.kind, "domain": [axis.low, axis.high], "nice": False, "zero": False})
    if axis.falling:
        scale["reverse"] = True
    if channel.get("axis") is not None:
        channel["axis"]["values"] = [value for value, _ in axis.ticks]
        channel["axis"]["labelExpr"] = text_of_tick(_texts(axis.ticks))
        if axis.kind == "linear" and axis.low < 0 < axis.high:
            channel["axis"] |= _ZERO_LINE


_ZERO_LINE: Spec = {
    "gridColor": {"condition": {"test": "datum.value === 0", "value": "#9AA3AE"}, "value": "#E3E6EA"}
}
"""Where an axis goes below 0 the line there is that of an axis: the lowest one, at which nothing ends, looked like it."""


def _texts(ticks: Sequence[tuple[float, str]]) -> dict[str, str]:
    return {_number(value): text for value, text in ticks}


def _number(value: float) -> str:
    """Write a number as `format(value, '.12~g')` does in Vega: small ones in full down to 1e-6, where Python stops at 1e-4."""
    text = f"{abs(value):.12g}"
    mantissa, _, power = text.partition("e-")
    if power and int(power) <= 6:
        text = f"{abs(value):.{int(power) + 11}f}".rstrip("0")
    elif power:
        text = f"{mantissa}e-{int(power)}"
    return f"\u2212{text}" if value < 0 else text  # with a true minus, as Vega's format has it


def text_of_tick(texts: Mapping[str, str]) -> str:
    """Return the expression for a tick's text. Vega hands back the very value that it was given."""
    return f"{json.dumps(texts, ensure_ascii=False)}[format(datum.value, '.12~g')]"


def draw(spec: Spec, uid: str, description: str) -> str:
    """Draw a specification as an inline SVG. Raises UserError where vl-convert is not installed."""
    return draw_compiled(compiled(spec), uid, description)


def compiled(spec: Spec) -> Spec:
    """Return a specification as Vega, with the theme: what draws, here or in a page; to be read only. Raises UserError as `draw`.

    Vega-Lite hands on data, sizes, titles, domains, ticks and colours as they are: charts that differ in nothing else, as both widths of a
    panel and most panels of a template, are compiled once."""
    spec = _as_scripts_have_it(spec)
    data = spec.get("datasets", {})
    shape, blanks = _blanked({**spec, "datasets": {key: [] for key in data}})
    text = _BLANK.sub(lambda found: _written(found, blanks), _shape(json.dumps(shape)))
    out: Spec = json.loads(text)
    out |= {name: spec[name] for name in (*_SIZES, "usermeta") if name in spec}
    out["data"] = [{**own, "values": data[own["name"]]} if "values" in own else own for own in out["data"]]
    return out


_SIZES = ("width", "height", "padding")

_BLANK = re.compile(r'\["(pinsweep_blank_\d+)_"\]|"(pinsweep_blank_\d+)_"|(pinsweep_blank_\d+)_')
"""A blank in JSON: alone in a list, which stands for all of it, alone in a text, or as a part of one."""


def _written(found: re.Match[str], blanks: Mapping[str, Any]) -> str:
    """Return as JSON what stood where a blank is now; what somebody else has named so stays."""
    name = found[1] or found[2] or found[3]
    if name not in blanks:
        return found[0]
    value, text = blanks[name], json.dumps(blanks[name])
    if found[3]:
        return text[1:-1]
    return f"[{text}]" if found[1] and not isinstance(value, list) else text


def _blanked(spec: Spec) -> tuple[Spec, dict[str, Any]]:
    """Return a specification with blanks for what Vega-Lite hands on as it is, and what stood there, by blank."""
    out: Spec = {**spec, **{name: 1 for name in _SIZES if name in spec}}
    if "usermeta" in spec:
        out["usermeta"] = {}
    blanks: dict[str, Any] = {}

    def blank(value: Any) -> str:  # noqa: ANN401 (anything JSON holds)
        name = f"pinsweep_blank_{len(blanks)}"
        blanks[name] = value
        return f"{name}_"

    if "params" in spec:
        out["params"] = [
            {**param, "value": blank(param["value"])} if isinstance(param.get("value"), list) else param
            for param in spec["params"]
        ]
    if "encoding" in spec:
        out["encoding"] = {
            name: _channel(channel, blank) if name in ("x", "y", "color") else channel
            for name, channel in spec["encoding"].items()
        }
    return out, blanks


def _channel(channel: Spec, blank: Callable[[Any], str]) -> Spec:
    """Return a channel of an encoding with its blanks."""
    out = {**channel}
    if isinstance(channel.get("title"), str) and channel["title"]:
        out["title"] = blank(channel["title"])
    for part, names in (("scale", ("domain", "range")), ("axis", ("values", "labelExpr", "titleX"))):
        own = channel.get(part)
        if not own:
            continue
        out[part] = {**own}
        for name in names:
            looked_at = name == "domain" and channel.get("type") == "quantitative" and "zero" not in own
            if own.get(name) is not None and not looked_at:  # Vega-Lite looks whether it holds 0
                out[part][name] = _blank_of(own[name], blank)
    return out


def _blank_of(value: Any, blank: Callable[[Any], str]) -> Any:  # noqa: ANN401 (anything JSON holds)
    if isinstance(value, dict):
        return {name: blank(own) if name == "expr" else own for name, own in value.items()}
    if not isinstance(value, list):
        return blank(value)
    if any(isinstance(item, dict) for item in value):
        return [_blank_of(item, blank) for item in value]
    return [blank(value)] if value else value


@functools.lru_cache(maxsize=256)
def _shape(text: str) -> str:
    """Return a specification without data as Vega, as text: each chart fills its own copy."""
    return json.dumps(_converter().vegalite_to_vega(json.loads(text), vl_version=VEGA_LITE, config=theme()))


def draw_compiled(chart: Spec, uid: str, description: str) -> str:
    """Draw what `compiled` returned."""
    return svg.tidy(_converter().vega_to_svg(chart), uid, description)


def _converter() -> Any:  # noqa: ANN401 (has no types)
    try:
        import vl_convert
    except ImportError as error:
        raise UserError(
            "report",
            "charts are drawn by vl-convert, which is not installed",
            "pip install vl-convert-python",
        ) from error
    return vl_convert


_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


def _as_scripts_have_it(value: Any) -> Any:  # noqa: ANN401 (anything JSON holds)
    """Replace in all texts what SVG may not hold (names come from experiments and hosts), and write 25.0 as 25."""
    if isinstance(value, str):
        return _UNPRINTABLE.sub("\ufffd", value)
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        return int(value) if value.is_integer() and abs(value) < 2**53 else value
    if isinstance(value, dict):
        return {key: _as_scripts_have_it(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_as_scripts_have_it(item) for item in value]
    return value
