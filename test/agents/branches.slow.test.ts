import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { gitIn } from '../support/git/gitIn.ts'

let board: AgentBoard
let remote: string
let other: string
let round = 0
const shell = (script: string) => ({ protocol: 'command' as const, command: ['sh', '-c', script] })
beforeAll(async () => {
  board = await startAgentBoard({
    writes: shell('echo mine > mine'),
    commits: shell('echo one > one; git add one; git commit -q -m "By the agent"; echo mine > mine'),
    edits: shell('echo mine > shared'),
    lasting: shell('sleep 600'),
    resolver: { fixture: 'well-behaved' },
  })
})
afterAll(() => board.close())
/** The bare repository for pushes, and another user's clone. */
beforeEach(() => {
  remote = board.folder(`remote-${++round}.git`)
  other = board.folder(`other-${round}`)
  execFileSync('git', ['init', '-q', '--bare', '-b', 'main', remote])
  if (git('remote') === 'origin') git('remote', 'remove', 'origin')
  git('remote', 'add', 'origin', `file://${remote}`)
  git('push', '-q', '-u', 'origin', 'main')
  execFileSync('git', ['clone', '-q', remote, other])
})

const git = (...args: string[]) => gitIn(board.path, ...args)
/** A commit of another user, pushed. */
function theirs(branch: string, name: string, text = `${name}\n`): string {
  writeFileSync(join(other, name), text)
  gitIn(other, 'add', '.')
  gitIn(other, 'commit', '-q', '-m', `Add ${name}`)
  gitIn(other, 'push', '-q', 'origin', `HEAD:${branch}`)
  return gitIn(other, 'rev-parse', 'HEAD')
}
const worked = async (agent: string, input: Parameters<AgentBoard['start']>[1] = {}) =>
  board.untilStatus((await board.start(agent, { title: 'Roof', ...input })).id, 'completed')
const place = ({ id }: Card) => ({ projectId: board.projectId, cardId: id })
const push = (card: Card, force = false) => board.client.branches.push({ ...place(card), force })
const update = (card: Card, more: { strategy?: 'merge' | 'rebase'; resolve?: boolean } = {}) =>
  board.client.branches.update({ ...place(card), ...more })
const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    ({ code, message, details }: { code: string; message: string; details?: unknown }) => ({ code, message, details }),
  )

describe('a push', () => {
  test('includes uncommitted changes, and reports if there are none', async () => {
    const card = await worked('writes')
    const pushed = await push(card)
    expect(pushed).toMatchObject({ remote: 'origin', branch: card.gitBranch, pushed: true })
    expect(gitIn(remote, 'rev-parse', card.gitBranch!)).toBe(pushed.commit)
    expect(gitIn(remote, 'show', `${card.gitBranch!}:mine`)).toBe('mine')
    expect(git('rev-parse', `origin/${card.gitBranch!}`)).toBe(pushed.commit)
    expect(await push(card)).toMatchObject({ pushed: false, commit: pushed.commit })
    const activity = await board.client.activity.list(place(card))
    expect(activity.items.filter(({ action }) => action === 'branch.pushed')).toHaveLength(1)
  })

  test('by force replaces the remote commits it has seen, and never newer ones of others', async () => {
    const card = await worked('writes')
    const branch = card.gitBranch!
    await push(card)
    gitIn(other, 'fetch', '-q')
    gitIn(other, 'checkout', '-q', branch)
    const added = theirs(branch, 'theirs')
    writeFileSync(join(worktreeOf(card), 'more'), 'more\n')
    for (const force of [false, true])
      expect(await failure(push(card, force))).toMatchObject({
        code: 'PUSH_REJECTED',
        message: expect.stringContaining(
          `The branch ${branch} on origin has commits that are not in the card's branch.`,
        ),
      })
    expect(gitIn(remote, 'rev-parse', branch)).toBe(added)
    git('fetch', '-q', 'origin')
    expect(await push(card, true)).toMatchObject({ pushed: true })
    expect(gitIn(remote, 'ls-tree', '--name-only', branch)).not.toContain('theirs')
  })

  test('runs no hook and no program of the repository, and reveals no secrets of the address', async () => {
    const card = await worked('writes')
    const ran = join(board.folder('.'), 'ran')
    const program = join(board.path, '.git', 'hooks', 'pre-push')
    writeFileSync(program, `#!/bin/sh\ntouch ${ran}\nexit 1\n`, { mode: 0o755 })
    git('config', 'core.sshCommand', program)
    git('config', 'credential.helper', `!${program}`)
    await push(card)
    git('remote', 'set-url', 'origin', 'http://ann:s3cretword@127.0.0.1:9/x.git')
    const { code, message } = await failure(push(card))
    expect(code).toBe('CONFLICT')
    expect(message).toMatch(/could not be pushed to origin: /)
    expect(message).not.toContain('s3cret')
    expect(existsSync(ran)).toBe(false)
    for (const name of ['core.sshCommand', 'credential.helper']) git('config', '--unset', name)
    rmSync(program)
  })

  test('is rejected while an agent works, without a branch, and without a remote', async () => {
    const busy = await board.start('lasting')
    await board.until(busy.id, 'a running agent', card => card.status === 'running')
    expect((await failure(push(busy))).code).toBe('AGENT_ALREADY_RUNNING')
    await board.client.agents.cancel(place(busy))
    const idle = await board.client.cards.create({ projectId: board.projectId, title: 'Idle' })
    expect(await failure(push(idle as Card))).toMatchObject({ code: 'CONFLICT' })
    const card = await worked('writes')
    git('remote', 'remove', 'origin')
    expect((await failure(push(card))).message).toContain('has no remote to push to')
    git('remote', 'add', 'origin', `file://${remote}`)
  })
})

describe('an update', () => {
  test.each(['merge', 'rebase'] as const)(
    'adds the newest commit of the base by a %s, with its files',
    async strategy => {
      const card = await worked('commits')
      const base = theirs('main', `news-${strategy}`)
      const updated = await update(card, { strategy })
      expect(updated).toMatchObject({ branch: card.gitBranch, baseCommit: base, updated: true, resolving: false })
      expect(git('rev-parse', card.gitBranch!)).toBe(updated.commit)
      expect(git('merge-base', base, card.gitBranch!)).toBe(base)
      const log = git('log', '--format=%an %s', `${base}..${card.gitBranch!}`).split('\n')
      expect(log.join('\n')).toContain('commits By the agent')
      expect(log.some(line => line.includes('Merge:'))).toBe(strategy === 'merge')
      const { diff, stats } = await board.client.agents.diff(place(card))
      expect(stats.filesChanged).toBe(2)
      expect(diff).toContain('+mine')
      expect(await update(card, { strategy })).toMatchObject({ updated: false, commit: updated.commit })
      expect(git('-C', worktreeOf(card), 'status', '--porcelain')).toBe('')
      expect(readFileSync(join(worktreeOf(card), `news-${strategy}`), 'utf8')).toBe(`news-${strategy}\n`)
    },
  )

  test.each(['merge', 'rebase'] as const)('never replaces a file that Git ignores (%s)', async strategy => {
    const card = await worked('commits')
    const file = join(worktreeOf(card), '.env')
    writeFileSync(join(board.path, '.git/info/exclude'), '.env\n')
    writeFileSync(file, 'mine\n')
    theirs('main', '.env')
    const { code, message } = await failure(update(card, { strategy }))
    expect({ code, message }).toEqual({ code: 'WORKTREE_DIRTY', message: expect.stringContaining('.env') })
    expect(readFileSync(file, 'utf8')).toBe('mine\n')
    rmSync(file)
    expect(await update(card, { strategy })).toMatchObject({ updated: true })
    expect(readFileSync(file, 'utf8')).toBe('.env\n')
    rmSync(join(board.path, '.git/info/exclude'))
  })

  test.each(['merge', 'rebase'] as const)('that conflicts (%s) changes nothing and names the files', async strategy => {
    const card = await worked('edits')
    const tip = git('rev-parse', card.gitBranch!)
    theirs('main', 'shared', `theirs ${strategy}\n`)
    expect(await failure(update(card, { strategy }))).toMatchObject({
      code: 'MERGE_CONFLICT',
      message: expect.stringContaining(`board cards update ${card.id} --resolve`) as string,
      details: [{ path: 'shared', message: 'has a conflict' }],
    })
    expect(git('rev-parse', card.gitBranch!)).toBe(tip)
    expect(readFileSync(join(worktreeOf(card), 'shared'), 'utf8')).toBe('mine\n')
  })

  test('with a conflict is given to the agent with the files and the changes of the other side', async () => {
    const card = await worked('edits')
    await board.client.cards.update({ ...place(card), agent: 'resolver' })
    theirs('main', 'shared', 'theirs\n')
    const base = theirs('main', 'later')
    expect(await update(card, { resolve: true })).toMatchObject({
      resolving: true,
      updated: false,
      commit: null,
      baseCommit: base,
    })
    const told = (await board.messages(card.id)).filter(({ role }) => role === 'user').at(-1)!.content
    expect(told).toContain(`git merge ${base}`)
    expect(told).toContain('> "shared"')
    expect(told).toContain('> Add shared')
    expect(told).not.toContain('Add later')
    await board.untilStatus(card.id, 'completed')
  })

  test('follows the branch of another card until that is done', async () => {
    const first = await worked('writes')
    const second = await worked('edits', { baseCardId: first.id })
    writeFileSync(join(worktreeOf(first), 'addition'), 'addition\n')
    expect(await update(second)).toMatchObject({ updated: true })
    expect(existsSync(join(worktreeOf(second), 'addition'))).toBe(true)
    await board.client.cards.complete(place(first))
    const base = theirs('main', 'after')
    expect(await update(second)).toMatchObject({ updated: true, baseCommit: base })
  })
})

/** The folder of a card's worktree. */
const worktreeOf = ({ gitBranch }: Card): string =>
  new RegExp(`worktree (.*)\nHEAD .*\nbranch refs/heads/${gitBranch}$`, 'm').exec(
    git('worktree', 'list', '--porcelain'),
  )![1]!
