// Shows HTML that Python made and escaped, and tells Python what was clicked; nothing is computed here.
const said = (model, kind, value) => model.send({ kind, value });

function render({ model, el }) {
  el.classList.add("wb", "wb-live");
  const draw = () => {
    const focused = el.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    el.innerHTML = model.get("html");
    if (focused !== undefined) el.querySelector(`[data-row="${CSS.escape(focused)}"]`)?.focus({ preventScroll: true });
  };
  const act = (target) => {
    const button = target.closest("button");
    if (button && el.contains(button)) {
      if (button.dataset.pin !== undefined) said(model, "pin", button.dataset.pin);
      if (button.dataset.apply !== undefined) said(model, "apply", button.dataset.apply);
      return true;
    }
    const row = target.closest("[data-row]");
    if (row && el.contains(row)) said(model, "row", row.dataset.row);
    return Boolean(row);
  };
  el.addEventListener("click", (event) => act(event.target));
  el.addEventListener("keydown", (event) => {
    if ((event.key === "Enter" || event.key === " ") && event.target.matches("[data-row]")) {
      event.preventDefault();
      act(event.target);
    }
  });
  model.on("change:html", draw);
  draw();
}

export default { render };
