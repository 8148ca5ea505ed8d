"""The browser in which tests read pages: the same program, flags and condition for all of them."""

from ntpcompanion.workflow.base.processes import find_browser

BROWSER = find_browser()
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    # what is not on this machine is asked of a port where nobody listens: nothing leaves, not even
    # a name
    "--proxy-server=127.0.0.1:9",
]
# what a page that is to be measured is asked first: its mathematics set, its typeface there
SETTLED = "() => window.MathJax?.startup?.promise.then(() => document.fonts.ready)"
PATIENCE = 240_000  # milliseconds: a page of a busy machine is slow, and no fault
