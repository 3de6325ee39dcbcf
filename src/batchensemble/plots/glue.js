// All of the page's own JavaScript. Tables first: DataTables comes as a module.
const options = {
  paging: false, searching: false, info: false, autoWidth: false, order: [],
  layout: { topStart: null, topEnd: null, bottomStart: null, bottomEnd: null },
};
const source = document.getElementById("datatables").textContent;
const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
const { default: DataTable } = await import(address);
document.querySelectorAll("table.sortable").forEach((table) => new DataTable(table, options));

// A chart is drawn when it comes near the window, which a hidden one never does.
const config = {
  background: null, font: "system-ui, sans-serif", view: { stroke: null },
  axis: { labelFontSize: 12, titleFontSize: 12, titleFontWeight: 400, domain: false },
  axisY: { ticks: false, labelPadding: 6 },
};
const views = new Map();
const draw = async (box) => {
  near.unobserve(box);
  const spec = JSON.parse(box.querySelector("script").textContent);
  const width = box.clientWidth;
  const autosize = { type: "fit-x", contains: "padding" };
  const more = { mode: "vega-lite", renderer: "svg", actions: false, config };
  const description = box.ariaLabel; // else the chart is read out as "Vega visualization"
  const { view } = await vegaEmbed(box, { ...spec, description, width, autosize }, more);
  views.set(box, view);
  sizes.observe(box);
};
const near = new IntersectionObserver(
  (seen) => seen.filter((one) => one.isIntersecting).forEach((one) => draw(one.target)),
  { rootMargin: "600px" },
);
const sizes = new ResizeObserver((changed) => changed.forEach(({ target: box }) => {
  const view = views.get(box);
  if (box.clientWidth && box.clientWidth !== view.width()) view.width(box.clientWidth).runAsync();
}));
const boxes = [...document.querySelectorAll(".chart")];
boxes.forEach((box) => near.observe(box));
addEventListener("beforeprint", () => boxes.filter((box) => !views.has(box) && box.clientWidth).forEach(draw));
