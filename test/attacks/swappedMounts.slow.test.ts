import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const secret = 'a secret of the account'
/** The agent can rename `~/.cache/tools`, above a mounted folder. */
const caches = ['~/private/cache', '~/.cache', '~/.cache/tools/inner']

let home: string
let board: AgentBoard
const ownHome = process.env.HOME
beforeAll(() => {
  home = realpathSync(mkdtempSync(join(tmpdir(), 'board-home-')))
  process.env.HOME = home
})
afterAll(() => {
  process.env.HOME = ownHome
  rmSync(home, { recursive: true, force: true })
})
beforeEach(async () => {
  lastCard = ''
  for (const name of ['.cache/tools/inner', 'private/cache', 'private/inner'])
    mkdirSync(join(home, name), { recursive: true })
  writeFileSync(join(home, 'private/inner/key'), secret)
  board = await startAgentBoard({}, { sandbox: 'require' })
})
afterEach(async () => {
  await board.close()
  for (const name of ['.cache', 'private']) rmSync(join(home, name), { recursive: true, force: true })
})

describe.skipIf(!hasBubblewrap)('a folder that is mounted and swapped by an agent', () => {
  test.each([
    ['the folder above it becomes a link', 'mv tools moved && ln -s ../private tools'],
    ['the folder above it becomes another folder', 'mv tools moved && mkdir -p tools/inner'],
  ])('is not mounted for afterRun if %s', async (_, swap) => {
    await run(`cd ~/.cache && ${swap}`, 'cat ~/private/inner/key > read; echo > ~/.cache/tools/inner/planted')
    expect(written('read')).not.toContain(secret)
    expect(existsSync(join(home, 'private/inner/planted'))).toBe(false)
    expect(await said()).toContain('was moved, deleted or replaced by a link')
  })

  test('is mounted again for afterRun if the owner recreates it during the session', async () => {
    const inner = join(home, '.cache/tools/inner')
    const ended = run('touch ready; until test -e go; do sleep 0.05; done', 'cat ~/.cache/tools/inner/file > read')
    await eventually('the start of the command', () => lastCard !== '' && existsSync(pathOf('ready')))
    rmSync(inner, { recursive: true })
    mkdirSync(inner)
    writeFileSync(join(inner, 'file'), 'content')
    writeFileSync(pathOf('go'), '')
    await ended
    expect(written('read')).toBe('content')
  })

  test('is not open in processes of the agent', async () => {
    await run('ls -l /proc/self/fd > descriptors', 'ls -l /proc/self/fd > after')
    for (const name of ['descriptors', 'after']) {
      expect(written(name)).not.toBe('')
      expect(
        written(name)
          .split('\n')
          .filter(line => / -> \/(?!proc\/|dev\/)/.test(line) && !line.endsWith(name)),
      ).toEqual([])
    }
  })
})

let lastCard = ''

/** Runs a terminal card and the project's afterRun to their ends. */
async function run(command: string, afterRun: string): Promise<void> {
  const { client, projectId, columns } = board
  await client.projects.update({ id: projectId, sandbox: { caches }, worktree: { afterRun } })
  const { id } = await client.cards.create({
    projectId,
    title: 'Swap',
    kind: 'terminal',
    columnId: columns.active,
    command,
  })
  lastCard = id
  await board.until(id, 'an end', ({ status }) => ['completed', 'failed'].includes(status), 60_000)
}

/** The content of a file in the card's worktree. Empty if it is missing. */
const written = (name: string): string => (existsSync(pathOf(name)) ? readFileSync(pathOf(name), 'utf8') : '')

const pathOf = (name: string): string => join(board.dataDir, 'worktrees', board.projectId, lastCard, name)

const said = async () => (await board.messages(lastCard)).map(({ content }) => content).join('\n')
