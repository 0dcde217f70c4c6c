"use strict";
(function () {
  // -- ledger: show the claims of one verdict ------------------------------------------------------------------
  const buttons = [...document.querySelectorAll(".filters button")];
  const rows = [...document.querySelectorAll("#ledger tbody tr")];
  function show(verdict) {
    for (const button of buttons) button.setAttribute("aria-pressed", String(button.dataset.show === verdict));
    for (const row of rows) row.hidden = verdict !== "" && (row.querySelector(".verdict") || row).dataset.verdict !== verdict;
  }
  for (const button of buttons) button.addEventListener("click", () => show(button.dataset.show));
  // A link to a claim that a filter hides shows all claims first.
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target && target.closest("tr[hidden]")) { show(""); target.scrollIntoView(); }
  });

  // -- what was run: folded, and open for who is led there and on paper ---------------------------------------------
  const fold = document.querySelector("#run .fold");
  if (fold) {
    const unfold = () => { if (location.hash === "#run") fold.open = true; };
    window.addEventListener("hashchange", unfold);
    window.addEventListener("beforeprint", () => { fold.open = true; });
    unfold();
  }

  // -- charts ----------------------------------------------------------------------------------------------------
  const holder = document.getElementById("theme");
  if (!holder) return;
  const theme = JSON.parse(holder.textContent);
  const NARROW = 560;      // below this width parts stand below each other, in pixels
  const AXIS = 72;         // what an axis with its labels takes beside a plot
  const GAP = 20;          // between the parts of a concatenation
  const FAR_TOO_WIDE = 1.6;  // beyond this share of the place, scrolling is more readable than shrinking

  const fits = (spec, width) => typeof spec.width === "number" && spec.width + AXIS <= width;
  const mayChange = (spec) => spec.width === undefined || typeof spec.width === "number" || spec.width === "container";

  // Width of one of `columns` plots that stand beside each other, their shared axis counted once.
  const share = (width, columns) => Math.max(120, Math.floor((width - AXIS - GAP * (columns - 1)) / columns));

  function sized(spec, width, columns) {
    return mayChange(spec) && !fits(spec, width / columns) ? { ...spec, width: share(width, columns) } : spec;
  }

  // A spec as it fits into `width` pixels; what its author sized to fit stays as it is.
  function fit(spec, width) {
    const narrow = width < NARROW;
    if (spec.hconcat && narrow) {
      const { hconcat, ...rest } = spec;
      return { ...rest, vconcat: hconcat.map((part) => fit(part, width)) };
    }
    if (spec.hconcat) {
      const each = (width - GAP * (spec.hconcat.length - 1)) / spec.hconcat.length;
      return { ...spec, hconcat: spec.hconcat.map((part) => fit(part, each)) };
    }
    if (spec.vconcat) return { ...spec, vconcat: spec.vconcat.map((part) => fit(part, width)) };
    if (spec.concat) {
      const columns = narrow ? 1 : spec.columns || spec.concat.length;
      return { ...spec, columns, concat: spec.concat.map((part) => fit(part, width / columns)) };
    }
    if ((spec.facet || spec.repeat) && (narrow || spec.columns)) {
      const columns = narrow ? 1 : spec.columns;
      return { ...spec, columns, spec: sized(spec.spec, width, columns) };
    }
    const { facet, row, column } = spec.encoding || {};
    if (facet && (narrow || facet.columns)) {
      const columns = narrow ? 1 : facet.columns;
      const encoding = { ...spec.encoding, facet: { ...facet, columns } };
      return { ...sized(spec, width, columns), encoding };
    }
    if (facet || column || !("mark" in spec || "layer" in spec)) return spec;
    return sized(spec, width - (row ? AXIS : 0), 1);
  }

  function whole(spec, width) {
    const single = ("mark" in spec || "layer" in spec) && !["row", "column", "facet"].some((c) => c in (spec.encoding || {}));
    return single && mayChange(spec) && !fits(spec, width) ? { ...spec, width: "container" } : fit(spec, width);
  }

  function themeFor(width) {
    if (width >= NARROW) return theme;
    return {
      ...theme,
      axis: { ...theme.axis, labelFontSize: 11, titleFontSize: 11, labelLimit: 120 },
      axisX: { ...theme.axisX, tickCount: 4 },
      legend: { ...theme.legend, columns: 1, labelFontSize: 11, labelLimit: width - AXIS },
    };
  }

  async function draw(place) {
    const width = place.clientWidth;
    try {
      const spec = JSON.parse(place.nextElementSibling.textContent);
      if (place.view) place.view.finalize();
      place.classList.remove("scroll");
      const result = await vegaEmbed(place, whole(spec, width), {
        mode: "vega-lite", renderer: "svg", config: themeFor(width),
        actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
        downloadFileName: place.closest("figure").id,
      });
      place.view = result;
      const svg = place.querySelector("svg.marks") || place.querySelector("svg");
      place.classList.toggle("scroll", svg.width.baseVal.value > FAR_TOO_WIDE * width);
      place.dataset.drawn = String(width);
    } catch (error) {
      place.dataset.failed = "true";
      place.replaceChildren(Object.assign(document.createElement("p"), {
        className: "broken", textContent: "This chart could not be drawn: " + error.message,
      }));
    }
  }

  const places = [...document.querySelectorAll(".chart")];
  let drawing = Promise.resolve();
  function drawAll() {
    for (const place of places) {
      if (place.dataset.drawn !== String(place.clientWidth) && !place.dataset.failed) drawing = drawing.then(() => draw(place));
    }
    drawing = drawing.then(() => { document.documentElement.dataset.charts = "drawn"; });
  }
  let later;
  window.addEventListener("resize", () => { clearTimeout(later); later = setTimeout(drawAll, 150); });
  drawAll();
})();
