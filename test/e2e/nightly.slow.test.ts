import { readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { run } from '../support/commands/commandLine.ts'
import type { Ran } from '../support/commands/commandWorker.ts'

let board: AgentBoard
let exportsFolder: string
let environment: Record<string, string>

beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' },
    crashing: { fixture: 'crash-in-turn' },
    endless: { fixture: 'forever' },
  })
  exportsFolder = board.folder('exports')
  const bin = board.folder('bin')
  symlinkSync(resolve('bin/board.js'), join(bin, 'board'))
  const { key } = await board.client.keys.create({
    name: 'nightly',
    scope: 'project',
    projectId: board.projectId,
    permissions: [
      'cards.read',
      'cards.create',
      'cards.move',
      'agents.run',
      'agents.cancel',
      'agents.archive',
      'exports.read',
    ],
  })
  const file = join(bin, 'key')
  writeFileSync(file, `${key}\n`, { mode: 0o600 })
  environment = {
    PATH: `${bin}:${process.env.PATH}`,
    BOARD_URL: board.url,
    BOARD_TOKEN_FILE: file,
    BOARD_PROJECT: board.projectId,
    EXPORTS: exportsFolder,
    PATIENCE_SECS: '60',
  }
})
afterAll(() => board.close())

/** Runs the script with an otherwise empty environment. */
const nightly = (more: Record<string, string> = {}): Promise<Ran> =>
  run(
    '/usr/bin/env',
    [
      '-i',
      ...Object.entries({ ...environment, ...more }).map(([name, value]) => `${name}=${value}`),
      'sh',
      resolve(import.meta.dirname, 'nightly.sh'),
    ],
    { cwd: exportsFolder },
  )
const useAgent = (agent: string) => board.client.projects.update({ id: board.projectId, agent })
const inColumn = async (columnId: string) =>
  (await board.client.cards.list({ projectId: board.projectId, columnId }))
    .toSorted((a, b) => a.position! - b.position!)
    .map(({ title, status }) => `${title}: ${status}`)

test('a script in cron creates, moves, runs, waits for, exports and archives cards, and prints their ids', async () => {
  await useAgent('good')
  await board.client.cards.create({ projectId: board.projectId, title: 'Done before', columnId: board.columns.done })
  const { code, stdout, stderr } = await nightly()
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toMatch(/^\d+\n\d+\n$/)
  const archived = await board.client.cards.list({ projectId: board.projectId, archived: true })
  expect(archived.map(({ title, status }) => `${title}: ${status}`).sort()).toEqual([
    'Done before: idle',
    'Nightly audit: completed',
  ])
  const [file] = readdirSync(exportsFolder)
  expect(file).toMatch(/^\d{4}-\d\d-\d\d\.board\.json$/)
  expect(
    JSON.parse(readFileSync(join(exportsFolder, file!), 'utf8'))
      .cards.map(({ title }: { title: string }) => title)
      .sort(),
  ).toEqual(['Done before', 'Nightly audit'])

  // The next night.
  expect(await nightly()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\d+\n$/), stderr: '' })
})

test('a failed agent exits with 1, a timeout with 8, and the card waits for a user to check it', async () => {
  await useAgent('crashing')
  const failed = await nightly()
  expect(failed).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringMatching(/^board: card \d+ failed: crashed\nsee: board agents messages \d+\n$/),
  })
  await useAgent('endless')
  const late = await nightly({ PATIENCE_SECS: '2' })
  expect(late).toMatchObject({
    code: 8,
    stdout: '',
    stderr: expect.stringMatching(
      /^board: timed out after 2 s; still waiting for \d+ \(running\)\nno agent was stopped; to wait longer: --timeout 1h\n$/,
    ),
  })
  expect(await inColumn(board.columns.active)).toEqual(['Nightly audit: cancelled', 'Nightly audit: failed'])
})

test('a missing server exits with 7 after three tries, and an invalid key with 4 immediately', async () => {
  expect(await nightly({ BOARD_URL: 'http://127.0.0.1:1' })).toMatchObject({ code: 7, stdout: '' })
  const wrong = join(exportsFolder, 'wrong')
  writeFileSync(wrong, 'svc_ak_wrong', { mode: 0o600 })
  expect(await nightly({ BOARD_TOKEN_FILE: wrong })).toMatchObject({ code: 4, stdout: '' })
})
