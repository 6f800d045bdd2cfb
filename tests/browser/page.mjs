// Looks at the rendered report in a real browser, and takes the pictures that the README shows. See `.ci/page`.
import { readFileSync, writeFileSync } from "node:fs";
import { chromium } from "playwright-core";
import { marked } from "marked";

const home = process.argv[2];
const browser = await chromium.launch({
  executablePath: process.env.UPSHIFT_BROWSER,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});
const faults = [];
const expect = (holds, what) => holds || faults.push(what);

async function open(file, width, colorScheme) {
  const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme, javaScriptEnabled: true });
  const page = await context.newPage();
  const asked = [];
  page.on("request", (request) => asked.push(request.url()));
  page.on("console", (message) => message.type() === "error" && faults.push(`${file}: ${message.text()}`));
  await page.goto(`file://${home}/${file}`);
  return { page, asked };
}

const backgrounds = new Set();
for (const width of [360, 1200]) {
  for (const scheme of ["light", "dark"]) {
    const name = `${width}-${scheme}`;
    const { page, asked } = await open("report.html", width, scheme);
    expect(asked.length === 1, `${name}: the page loads ${asked.slice(1)}`);
    await page.screenshot({ path: `${home}/${name}.png`, fullPage: true });
    const closed = await page.locator("details.iteration:not([open])").count();
    expect(closed === 3, `${name}: ${closed} iterations to unfold`);
    // As a person would: a click on the lane leads to the iteration, a click on its line unfolds it.
    await page.locator('a[href="#t2i1"]').first().click();
    await page.locator("#t2i1 > summary").click();
    expect(await page.locator("#t2i1").getByText("Conversation with the critic").isVisible(), `${name}: nothing unfolds`);
    for (const summary of await page.locator("details:not([open]) > summary").all()) {
      if (await summary.isVisible()) await summary.click();
    }
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
    expect(overflow <= 0, `${name}: ${overflow} px too wide when unfolded`);
    const colours = await page.evaluate(() => {
      const style = getComputedStyle(document.body);
      return [style.backgroundColor, style.color];
    });
    backgrounds.add(colours[0]);
    expect(contrast(...colours) >= 7, `${name}: text of contrast ${contrast(...colours).toFixed(1)}`);
    await page.screenshot({ path: `${home}/${name}-unfolded.png`, fullPage: true });
    await page.context().close();
  }
}
expect(backgrounds.size === 2, `light and dark look alike: ${[...backgrounds]}`);

// The comment as a pull request shows it.
const comment = marked.parse(readFileSync(`${home}/comment.md`, "utf8"), { gfm: true });
writeFileSync(`${home}/comment.html`, `<!doctype html><meta charset="utf-8"><style>
  body { margin: 0; padding: 16px; background: #fff; font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; color: #1f2328; }
  article { max-width: 860px; border: 1px solid #d1d9e0; border-radius: 6px; }
  header { background: #f6f8fa; border-bottom: 1px solid #d1d9e0; padding: 8px 16px; color: #59636e; border-radius: 6px 6px 0 0; }
  main { padding: 16px; } h3 { margin: 0 0 12px; font-size: 1.25em; } ul { padding-left: 2em; }
  code { background: #818b981f; border-radius: 6px; padding: .2em .4em; font: 85% ui-monospace, "DejaVu Sans Mono", monospace; }
  pre { background: #f6f8fa; padding: 12px; border-radius: 6px; overflow: auto; } pre code { background: none; padding: 0; }
  table { border-collapse: collapse; } th, td { border: 1px solid #d1d9e0; padding: 6px 13px; } tr:nth-child(2n) { background: #f6f8fa; }
</style><article><header><b>upshift</b> commented</header><main>${comment}</main></article>`);
const { page } = await open("comment.html", 900, "light");
await page.locator("article").screenshot({ path: `${home}/comment.png` });
const { page: wide } = await open("report.html", 1000, "light");
await wide.screenshot({ path: `${home}/report.png`, clip: { x: 0, y: 0, width: 1000, height: 1100 } });
await browser.close();

function contrast(...colours) {
  const light = colours.map((colour) => {
    const [r, g, b] = colour.match(/\d+/g).map((part) => {
      const share = part / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  });
  const [dark, bright] = light.sort((a, b) => a - b);
  return (bright + 0.05) / (dark + 0.05);
}

if (faults.length > 0) {
  console.error(faults.join("\n"));
  process.exit(1);
}
console.log("the page: 4 looks (360 and 1,200 px, light and dark), nothing loaded, every iteration unfolds, nothing too wide");
