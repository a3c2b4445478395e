import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, realpathSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { configure, makeRepository } from '../support/agents/agentBoard.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { traceFiles, whyNotTraced, type FileTrace, type TracedCall } from '../support/processes/fileTrace.ts'
import { reportSkipped } from '../support/run/reportSkipped.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const problem = hasBubblewrap ? whyNotTraced() : 'bubblewrap does not work here'
if (problem) reportSkipped('Paths that the server opens', problem)

const root = realpathSync(mkdtempSync(join(tmpdir(), 'board-outside-')))
const dataDir = join(root, 'data')
const path = join(root, 'project')
const home = join(root, 'home')
const board = boardProcess(dataDir, { HOME: home }, ['--sandbox', 'require'])
afterAll(() => clearAway(board, root))

const git = (...args: string[]): string => execFileSync('git', ['-C', path, ...args], { encoding: 'utf8' }).trim()
/** Changes a file, commits another one in a new folder, and leaves a third uncommitted. */
const work =
  'C="card $BOARD_CARD_ID"; echo "$C" >> README; mkdir -p "$C"; echo new > "$C/new"; git add -A; git commit -qm Work; echo "$C" > loose'

describe.skipIf(problem !== '')('no process outside bubblewrap opens, creates, renames or removes a path', () => {
  let projectId: string
  let columnId: string
  let trace: FileTrace
  beforeAll(async () => {
    mkdirSync(home)
    execFileSync('git', ['config', '--file', join(home, '.gitconfig'), 'user.name', 'Owner'])
    execFileSync('git', ['config', '--file', join(home, '.gitconfig'), 'user.email', 'owner@example.org'])
    configure(dataDir, { worker: { command: ['sh', '-c', `${work}; echo done`], protocol: 'command' } }, 'none')
    makeRepository(path)
    mkdirSync(join(path, 'packages'))
    writeFileSync(join(path, 'packages/file'), 'x\n')
    writeFileSync(join(path, '.gitignore'), '.env\n')
    writeFileSync(join(path, '.env'), 'SECRET=x\n')
    git('add', '.')
    git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-qm', 'Second')
    await board.start()
    projectId = (await board.client.projects.create({ name: 'Traced', path })).id
    const worktree = {
      setup: 'touch set-up',
      beforeRun: 'touch before',
      afterRun: 'touch after',
      cleanup: 'true',
      preview: `touch previewed; exec node -e 'require("http").createServer((_, to) => to.end()).listen(process.env.BOARD_PORT)'`,
      copiedFiles: ['.env'],
    }
    await board.client.projects.update({ id: projectId, worktree })
    columnId = (await board.client.columns.list({ projectId })).find(each => each.columnType === 'active')!.id
    trace = await traceFiles(board.pid, resolve('.'), join(root, 'trace'))
  })

  const start = async (useWorktree: boolean) => {
    const { id } = await board.client.cards.create({
      projectId,
      title: 'Work',
      prompt: 'Do it.',
      columnId,
      agent: 'worker',
      useWorktree,
    })
    const ref = { projectId, cardId: id }
    await ended(ref)
    return ref
  }
  const ended = (ref: { projectId: string; cardId: string }) =>
    eventually(
      'the end of the agent',
      async () => {
        const { status } = await board.client.cards.get(ref)
        if (status === 'failed') throw new Error(JSON.stringify(await board.client.agents.messages(ref)))
        return status === 'completed'
      },
      60_000,
    )

  test('below a worktree, the Git folder of an agent or a project folder, during the life of a card', async () => {
    const { client } = board
    const inProject = await start(false)
    await client.agents.diff(inProject)
    git('add', '-A')
    git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-qm', 'Third')

    const ref = await start(true)
    const worktrees = join(dataDir, 'worktrees', projectId)
    const worktree = join(worktrees, ref.cardId)
    expect((await client.agents.diff(ref)).diff).toContain('b/loose')
    await client.reviews.create({
      ...ref,
      verdict: 'request_changes',
      body: 'Again.',
      comments: [{ path: 'loose', line: 1, body: 'Why?' }],
    })
    await ended(ref)
    // The repository records another place, as after a move of the data folder.
    writeFileSync(join(path, '.git/worktrees', ref.cardId, 'gitdir'), `${root}/earlier/${ref.cardId}/.git\n`)
    const again = { ...ref, verdict: 'request_changes' as const, body: 'Once more.' }
    await client.reviews.create(again)
    await ended(ref)
    expect((await client.agents.diff(ref)).diff).toContain('b/loose')
    // The folder is moved aside, and restored from the branch.
    unlinkSync(join(worktree, '.git'))
    await client.reviews.create(again)
    await ended(ref)
    expect(readdirSync(worktrees).some(name => name.startsWith(`${ref.cardId}.aside-`))).toBe(true)
    await client.gates.create({ projectId, columnId, name: 'tests', command: 'echo checked > checked' })
    await client.proofs.check(ref)
    await eventually('the gate', async () => (await client.proofs.list(ref))[0]?.proof?.finishedAt !== null)
    await client.previews.start(ref)
    await eventually('the preview', async () => (await client.previews.get(ref)).status === 'running')
    await client.previews.stop(ref)
    writeFileSync(join(path, 'theirs'), 'theirs\n')
    git('add', 'theirs')
    git('-c', 'user.name=T', '-c', 'user.email=t@example.org', 'commit', '-qm', 'Fourth')
    await client.branches.update(ref)
    await client.agents.merge(ref)
    expect(git('show', `main:card ${ref.cardId}/new`)).toBe('new')
    await client.cards.detachWorktree({ ...ref, remove: true })
    const other = await start(true)
    await client.cards.delete({ ...other, force: 'true' })
    await client.cards.delete(inProject)
    const checks = join(dataDir, 'agents/checks')
    const listChecks = () => (existsSync(checks) ? readdirSync(checks) : [])
    await client.agents.check({ agent: 'worker' })
    await eventually('the folder of the check', () => listChecks().length > 0)
    await eventually('the end of the check', () => listChecks().length === 0)

    const calls = await trace.end()
    expect(calls.length).toBeGreaterThan(1000)
    expect(calls.filter(call => isTouched(call, worktrees, worktree))).toEqual([])
    // The server creates a folder for the check, which no agent sees before, and only bubblewrap removes its content.
    const ofCheck = calls.filter(call => call.path.startsWith(`${checks}/`))
    expect(ofCheck.some(({ call, path }) => call.startsWith('mkdir') && path.endsWith('/work'))).toBe(true)
    const removed = ofCheck.filter(({ call }) => /^(unlink|rmdir)/.test(call))
    expect(removed.filter(call => dirname(call.path) !== checks)).toEqual([])
  }, 300_000)
})

/** Whether a call accesses a folder that agents can write. */
function isTouched({ path: touched }: TracedCall, worktrees: string, worktree: string): boolean {
  // The worktree of a card is prepared next to the card's folder, where no agent sees it.
  const [card, ...inCard] = touched.startsWith(`${worktrees}/`) ? touched.slice(worktrees.length + 1).split('/') : []
  if (card !== undefined && inCard.length > 0 && !card.endsWith('.unfinished')) return true
  if (touched.startsWith(`${worktree}/`) || /^\/proc\/(self|\d+)\/fd\/\d+\/./.test(touched)) return true
  if (!touched.startsWith(`${path}/`)) return false
  const inGit = touched.startsWith(`${path}/.git/`) || touched === `${path}/.git`
  return !inGit || /^\/board\/[^/]+\/common\//.test(touched.slice(`${path}/.git`.length))
}
