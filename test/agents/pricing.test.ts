import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readPriceList } from '../../src/agents/pricing/priceList.ts'

const root = mkdtempSync(join(tmpdir(), 'board-prices-'))
afterAll(() => rmSync(root, { recursive: true }))
const file = (content: unknown) => {
  const path = join(root, 'prices.json')
  writeFileSync(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}
const million = { inputTokens: 1_000_000, outputTokens: 1_000_000 }

test('a known model name has a price, regardless of prefixes and suffixes; an unknown model has none', async () => {
  const { costOf } = await readPriceList(undefined)
  for (const name of [
    'claude-opus-4.5',
    'claude-opus-4-5-20251101',
    'anthropic/claude-opus-4-5',
    'Claude-Opus-4-5[1m]',
    'claude-opus-4-5/high',
  ])
    expect(costOf(name, million), name).toBe(30)
  expect(costOf('gpt-5.2-codex', { inputTokens: 1_000_000, cachedTokens: 900_000, outputTokens: 0 })).toBeCloseTo(
    0.3325,
  )
  for (const name of ['claude-opus', 'opus', 'default', 'gpt-5.2-codex-max', ''])
    expect(costOf(name, million), name).toBeNull()
  expect(costOf(null, million)).toBeNull()
})

test("the operator's file overrides the bundled list, and errors in it are reported", async () => {
  const own = {
    models: [
      { model: 'claude-opus-4-5', input: 1, output: 1 },
      { model: 'house', input: 2, output: 2 },
    ],
  }
  const { costOf } = await readPriceList(file(own))
  expect([costOf('claude-opus-4.5', million), costOf('house', million), costOf('gpt-5', million)]).toEqual([
    2, 4, 11.25,
  ])
  const says = (content: unknown) => readPriceList(file(content)).then(String, (error: Error) => error.message)
  expect(await says('{')).toMatch(/^prices must be a JSON file: .*prices\.json: /)
  expect(await says({ models: [{ model: 'x', input: -1, output: 1 }] })).toMatch(
    /^prices\.models\.0\.input must be at least 0 \(/,
  )
  expect(await says({ models: [{ model: 'x', input: 1, output: 'much' }] })).toMatch(
    /^prices\.models\.0\.output must be/,
  )
  await expect(readPriceList(join(root, 'none.json'))).rejects.toThrow(/^prices must be a JSON file: .*ENOENT/)
})
