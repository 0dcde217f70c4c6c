"""The one script that draws all charts of a page: Vega, Vega-Lite and vega-embed as a single text."""

from __future__ import annotations

from importlib.metadata import version

from workbench.analysis.canonical import write_text
from workbench.settings import home


def chart_bundle() -> str:
    """The bundle of the Vega-Lite version that Altair writes, safe inside a script element.

    Made in one to five seconds, so kept under the home directory by its versions.
    """
    import altair as alt

    vega_lite = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    path = home() / "cache" / f"vega-lite-{vega_lite}-vl-convert-{version('vl-convert-python')}.js"
    if not path.exists():
        import vl_convert

        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, vl_convert.javascript_bundle(vl_version=vega_lite))
    # In a script element only `</script` and `<!--` mean something; in a string both escapes idle.
    return path.read_text(encoding="utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")
