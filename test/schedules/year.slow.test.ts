import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { compare, complete, days, downtimes, look, modelOf, year, zones, type Rule } from './year.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'board-year-'))
let nowMs = year.startMs
let board: TestBoard | undefined
const open = async () => (board ??= await startBoard({ dataDir, clock: () => new Date(nowMs) }))
const shut = async () => {
  await board?.close()
  board = undefined
}
afterAll(async () => {
  await shut()
  rmSync(dataDir, { recursive: true, force: true })
})

/** At the hours of clock changes, on each day and on Sundays; at usual times; and by intervals. */
const rules = zones.flatMap((zone): Rule[] => [
  {
    name: `half past two ${zone}`,
    zone,
    cron: '30 2 * 2-4,10,11 *',
    matches: wall =>
      wall.getUTCHours() === 2 && wall.getUTCMinutes() === 30 && [1, 2, 3, 9, 10].includes(wall.getUTCMonth()),
    overlap: 'skip',
    catchUp: 'none',
  },
  {
    name: `Sundays ${zone}`,
    zone,
    cron: '10,40 1-2 * 1-12 0',
    matches: wall =>
      [10, 40].includes(wall.getUTCMinutes()) && [1, 2].includes(wall.getUTCHours()) && wall.getUTCDay() === 0,
    overlap: 'add',
    catchUp: 'one',
  },
  {
    name: `all of the first ${zone}`,
    zone,
    cron: '*/30 0-3 1 3,4,10,11 *',
    matches: wall =>
      wall.getUTCMinutes() % 30 === 0 &&
      wall.getUTCHours() < 4 &&
      wall.getUTCDate() === 1 &&
      [2, 3, 9, 10].includes(wall.getUTCMonth()),
    overlap: 'queue',
    catchUp: 'none',
  },
])
const intervals: Rule[] = [
  { name: 'every day', zone: 'Europe/Berlin', everySecs: 86_400, overlap: 'queue', catchUp: 'one' },
  { name: 'every 25 hours', zone: 'America/New_York', everySecs: 90_000, overlap: 'skip', catchUp: 'none' },
]

test('a year of schedules, across all clock changes and downtimes, creates exactly the cards of the rules', async () => {
  const { client, folder } = await open()
  const { id: projectId } = await client.projects.create({ name: 'year', path: folder('year') })
  const models = [...rules, ...intervals].map(modelOf)
  const ids: string[] = []
  for (const { rule } of models)
    ids.push(
      (
        await client.schedules.create({
          projectId,
          name: rule.name,
          cron: rule.cron,
          everySecs: rule.everySecs,
          timeZone: rule.zone,
          template: { title: `${rule.name} {date}` },
          overlap: rule.overlap,
          catchUp: rule.catchUp,
        })
      ).id,
    )
  const down = downtimes.map(([from, to]) => [Date.parse(from), Date.parse(to)] as const)
  const isDown = (atMs: number) => down.some(([from, to]) => atMs >= from && atMs < to)
  // Checks each due time; every third day a user completes the last cards.
  const completions = new Set(Array.from({ length: 121 }, (_, n) => year.startMs + days(3 * n + 2) + 5_000))
  const moments = [...new Set([...models.flatMap(({ dues }) => dues), ...completions, ...down.flat()])]
    .filter(atMs => atMs < year.endMs)
    .sort((a, b) => a - b)
  for (const atMs of moments) {
    // A server that is still running when its clock advances can check the due schedules.
    if (isDown(atMs)) await shut()
    nowMs = atMs
    if (isDown(atMs)) continue
    const { server, client } = await open()
    await server.app.timer.reconcile()
    for (const model of models) look(model, atMs)
    const shown = await client.schedules.list({ projectId })
    for (const [at, model] of models.entries()) compare(model, shown[at]!)
    if (!completions.has(atMs)) continue
    for (const [at, model] of models.entries()) {
      const cardId = shown[at]!.lastCardId
      if (!model.isOpen || cardId === null) continue
      await client.cards.complete({ projectId, cardId })
      await server.app.timer.reconcile()
      complete(model, atMs)
    }
  }
  const made: string[] = []
  for (let cursor = '0'; ;) {
    const page = await (await open()).client.cards.list({ projectId, cursor, limit: 1000 })
    made.push(...page.map(({ title }) => title))
    if (page.length < 1000) break
    cursor = page.at(-1)!.id
  }
  expect(made.sort()).toEqual(models.flatMap(model => model.made).sort())
  expect(models.every(model => model.made.length > 3)).toBe(true)
  expect(ids).toHaveLength(models.length)
})
