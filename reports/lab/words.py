"""The fixed words of a lab report, once for all three languages: headings, and the gaps that the student fills."""

from __future__ import annotations

HEADINGS = {
    "aim": "Aim",
    "setup": "What was measured, and how",
    "checks": "What limits these numbers",
    "results": "Results",
    "findings": "What the data says",
    "discussion": "Discussion",
    "methods": "Methods",
    "conclusion": "Conclusion",
    "numbers": "All numbers",
    "commands": "All command lines",
}

GAP = "Your analysis here"
"""What each gap begins with: search for it to find what is still to be written."""

GAPS = {
    "author": "Your name, your course, the date",
    "aim": "What question do these measurements answer? What did you expect, and from which data of the machine?",
    "checks": "Which of these touch your conclusions? What would you measure again, and how?",
    "section": "What do the figures and tables of this section show, and why does the machine behave so?",
    "discussion": "Do the results agree with each other, and with what you expected? What could they be mistaken about?",
    "conclusion": "The answer to the question of the aim, in two or three sentences, with its numbers.",
}

SAYINGS = {
    "kept": "The titles of the figures and tables. What they claim is computed from the data by the rules under Methods; one that claims nothing "
    "says what was measured. Keep it, or cut it.",
    "no_checks": "No run gave a number that a check could judge.",
    "no_numbers": "No run gave a number: see the checks, and all command lines at the end.",
    "commands": "The numbers of the runs are those of the result file.",
    "filed": "Too long to print; in the folder tables:",
}
