"""The digits page as a visitor meets it: it trains, draws its curve, and names a drawn digit."""
import re

from tools.demo import draw_three

COLUMNS_OF_THE_CURVE = """() => {
  const probe = document.body.appendChild(document.createElement("i")), curve = document.getElementById("curve"), columns = new Set();
  probe.style.color = "var(--accent)";
  const wanted = getComputedStyle(probe).color.match(/[0-9]+/g).map(Number);
  const { data } = curve.getContext("2d").getImageData(0, 0, curve.width, curve.height);
  for (let i = 0; i < data.length; i += 4)
    if (data[i + 3] > 200 && wanted.every((v, k) => Math.abs(data[i + k] - v) < 20)) columns.add(i / 4 % curve.width);
  return columns.size;
}"""


def test_the_page_trains_tests_and_answers_a_drawn_digit(page):
    page.goto("/mnist/?steps=10")
    page.wait_for_function("window.result || window.trouble", timeout=90_000)
    assert page.evaluate("window.trouble") is None
    assert page.locator("#step").inner_text() == "10 / 10"
    assert re.fullmatch(r"\d+\.\d\d %", page.locator("#accuracy").inner_text())
    assert page.locator("table.confusion tr").count() == 11
    result = page.evaluate("window.result")
    assert sum(map(sum, result["confusion"])) == 2000
    assert result["reloaded_max_abs_diff"] <= 1e-4
    assert page.evaluate(COLUMNS_OF_THE_CURVE) > 300  # of the step 5 to the step 10
    assert 0 <= draw_three(page) <= 9
    with page.expect_download() as download:
        page.locator("#save").click()
    assert download.value.suggested_filename == "digits.safetensors"


def test_the_page_says_when_webgpu_is_missing(page):
    def without_gpu(route):
        script = route.fetch().text()
        route.fulfill(body="delete Object.getPrototypeOf(navigator).gpu;\n" + script, content_type="text/javascript")
    page.route("**/worker.mjs", without_gpu)
    page.goto("/mnist/")
    page.wait_for_function("window.trouble", timeout=60_000)
    assert "WebGPU is missing here" in page.locator("#stage").inner_text()
