import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startAgentBoard, type AgentBoard } from '../agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../commandLine.ts'
import { eventually } from '../helper.ts'

let board: AgentBoard
let cli: CommandLine
const holders: CommandLine[] = []
/** Renames and changes a file, and makes files of bytes, with lines that look like a diff's own, and with what clears a terminal. */
const oddFiles = `mv 'old name.txt' 'new name.txt'; echo more >> 'new name.txt'; printf 'select 1;\\n+++ new\\n' > query.sql; printf '\\0\\1' > bytes.dat; printf '\\033[2J\\n' > esc.txt`

beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' }, endless: { fixture: 'forever' }, asking: { fixture: 'permission-first' }, crashing: { fixture: 'crash-in-turn' },
    shell: { fixture: 'none', protocol: 'command', command: ['sh', '-c', oddFiles] },
  }, { externalRequestsPerMinute: 10_000 })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
}, 30_000)
afterAll(async () => {
  for (const each of [cli, ...holders]) each.close()
  await board.close()
})

const newCard = async (agent: string, title = 'Work', more: { autoMode?: boolean } = {}) => (await board.client.cards.create({ projectId: board.projectId, title, agent, ...more })).id
const git = (folder: string, ...args: string[]) => execFileSync('git', ['-C', folder, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
const done = async (agent = 'good', title?: string) => {
  const id = await newCard(agent, title)
  await cli.ok(['cards', 'run', id, '--wait'])
  return id
}

describe('run', () => {
  test('--wait runs several at once and prints what became of each; that not all completed ends with 1', async () => {
    const ids = [await newCard('good', 'First'), await newCard('crashing', 'Second'), await newCard('asking', 'Third')]
    const { code, stdout, stderr } = await cli.board(['cards', 'run', ...ids, '--wait', '--timeout', '30'])
    expect(stdout.trimEnd().split('\n').sort()).toEqual([`${ids[0]}\tcompleted\t\tFirst`, `${ids[1]}\tfailed\tcrashed\tSecond`, `${ids[2]}\twaiting\t\tThird`])
    expect({ code, said: stderr.includes('2 of 3 did not complete') }).toEqual({ code: 1, said: true })
    await cli.ok(['agents', 'approve', ids[2]!])
  }, 40_000)

  test('--wait of one that waits for a person says how it is answered', async () => {
    const id = await newCard('asking')
    const { code, stderr } = await cli.board(['cards', 'run', id, '--wait'])
    expect(code).toBe(1)
    expect(stderr).toContain(`card ${id} waits for you: Write allowed.txt\nanswer with: board agents approve ${id}\n`)
    await cli.ok(['agents', 'approve', id])
    await board.untilStatus(id, 'completed')
  })

  test('--wait --json is one document; ids that are not there are told of, and the others run', async () => {
    const id = await newCard('good')
    const { code, stdout, stderr } = await cli.board(['cards', 'run', id, '9999', '--wait', '--json'])
    expect(JSON.parse(stdout)).toEqual([{ id, status: 'completed', statusReason: null, title: 'Work', error: null }])
    expect({ code, said: stderr.includes('9999: there is no such card') }).toEqual({ code: 1, said: true })
  })

  test('--timeout ends the waiting with 8, not the agent', async () => {
    const id = await newCard('endless')
    const { code, stderr } = await cli.board(['cards', 'run', id, '--wait', '--timeout', '2'])
    expect({ code, said: stderr.includes(`timed out after 2 s; still waiting for ${id} (running)`) }).toEqual({ code: 8, said: true })
    expect((await board.card(id)).status).toBe('running')
    expect(await cli.ok(['cards', 'cancel', id])).toBe(`${id}\tcancelled\n`)
    expect((await board.card(id)).status).toBe('cancelled')
  })

  test('--follow prints the messages of this run and ends with it', async () => {
    const id = await done()
    const before = (await board.messages(id)).length
    await cli.ok(['cards', 'move', id, '--to', 'backlog'])
    const lines = (await cli.ok(['cards', 'run', id, '--follow', '--json'])).trimEnd().split('\n').map(line => JSON.parse(line))
    const stored = await board.client.agents.messages({ projectId: board.projectId, cardId: id })
    expect(lines.sort((a, b) => a.id - b.id)).toEqual(stored.slice(before))
    expect((await cli.board(['cards', 'run', id, '1', '--follow'])).code).toBe(2)
  })

  test('--follow of an agent that crashes ends with 1 after its last words', async () => {
    const id = await newCard('crashing')
    const { code, stdout, stderr } = await cli.board(['cards', 'run', id, '--follow'])
    expect({ code, said: stderr.includes(`card ${id} failed: crashed`) }).toEqual({ code: 1, said: true })
    expect(stdout).toContain('\tsystem\t')
  })

  test('a terminal card runs its command', async () => {
    const id = (await cli.ok(['cards', 'add', 'Shell', '--terminal', 'echo from the shell', '-q'])).trim()
    expect(await cli.ok(['cards', 'run', id, '--wait'])).toBe(`${id}\tcompleted\t\tShell\n`)
    expect(await cli.ok(['agents', 'messages', id])).toContain('from the shell')
  })
})

describe('wait', () => {
  test('sees a status that passes quickly, and one that is there already', async () => {
    const id = await newCard('good')
    let isOver = false
    const waiting = cli.ok(['cards', 'wait', id, '--for', 'queued', '--timeout', '20']).finally(() => { isOver = true })
    // Whether it waits by now cannot be seen from here, so the agent is started until it has been seen.
    while (!isOver) {
      await board.client.agents.relaunch({ projectId: board.projectId, cardId: id })
      await board.untilStatus(id, 'completed')
    }
    expect(await waiting).toBe(`${id}\tqueued\t\tWork\n`)
    expect(await cli.ok(['cards', 'wait', id, '--for', 'failed,completed', '-q'])).toBe(`${id}\n`)
  })

  test('passes over the steps of auto mode to the end of the last one', async () => {
    const review = await board.client.columns.create({ projectId: board.projectId, boardId: (await board.client.boards.list({ projectId: board.projectId }))[0]!.id, name: 'Review', columnType: 'active' })
    const id = await newCard('good', 'Two steps', { autoMode: true })
    await cli.ok(['cards', 'run', id])
    expect(await cli.ok(['cards', 'wait', id, '--timeout', '30'])).toBe(`${id}\tcompleted\t\tTwo steps\n`)
    expect(await board.card(id)).toMatchObject({ columnType: 'done', status: 'completed' })
    expect((await board.card(id)).sessions).toHaveLength(2)
    await board.client.columns.delete({ projectId: board.projectId, columnId: review.id })
  })

  test('--exit-status ends with 1 when one did not end well; without it the end is enough', async () => {
    const { code } = await cli.board(['cards', 'run', await newCard('crashing'), '--wait'])
    expect(code).toBe(1)
    const id = (await cli.ok(['cards', 'list', '-s', 'failed', '-q'])).trim().split('\n').at(-1)!
    expect((await cli.board(['cards', 'wait', id])).code).toBe(0)
    const strict = await cli.board(['cards', 'wait', id, '--exit-status'])
    expect({ code: strict.code, see: strict.stderr.includes(`see: board agents view ${id}`) }).toEqual({ code: 1, see: true })
  })

  test('a card that is deleted meanwhile is told of, and the others are waited for', async () => {
    const [gone, kept] = [await newCard('endless'), await newCard('endless')]
    await cli.ok(['cards', 'run', gone, kept])
    const waiting = cli.board(['cards', 'wait', gone, kept])
    await board.untilStatus(kept, 'running')
    await cli.ok(['cards', 'delete', gone, '--yes', '--force'])
    await cli.ok(['cards', 'cancel', kept])
    const { code, stdout, stderr } = await waiting
    expect({ code, stdout }).toEqual({ code: 1, stdout: `${kept}\tcancelled\tcancelled\tWork\n` })
    expect(stderr).toContain(`${gone}: there is no such card`)
  })

  test('an unknown status is a usage error, an unknown card not found, too long a wait 8', async () => {
    const id = await newCard('good')
    const [status, card, late] = await Promise.all([cli.board(['cards', 'wait', id, '--for', 'done']), cli.board(['cards', 'wait', '9999']), cli.board(['cards', 'wait', id, '--for', 'completed', '--timeout', '1'])])
    expect([status, card, late].map(({ code }) => code)).toEqual([2, 3, 8])
  })

  test('with an API key it waits and cancels through the external routes', async () => {
    const { key } = await board.client.keys.create({ name: 'cron', scope: 'project', projectId: board.projectId, permissions: ['cards.read', 'agents.cancel'] })
    const holder = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: key, BOARD_PROJECT: board.projectId })
    holders.push(holder)
    const id = await newCard('endless')
    await cli.ok(['cards', 'run', id])
    expect(await holder.ok(['cards', 'wait', id, '--for', 'running'])).toBe(`${id}\trunning\t\tWork\n`)
    const waiting = holder.ok(['cards', 'wait', id])
    expect(await holder.ok(['cards', 'cancel', id])).toBe(`${id}\tcancelled\n`)
    expect(await waiting).toBe(`${id}\tcancelled\tcancelled\tWork\n`)
    expect((await holder.board(['cards', 'run', id])).code).toBe(4)
    expect((await holder.board(['agents', 'messages', id])).code).toBe(4)
  })
})

describe('what a card has changed', () => {
  test('is a patch in a pipe, coloured on a terminal, and counted by --stat', async () => {
    const id = await done()
    const patch = await cli.ok(['cards', 'diff', id])
    const folder = mkdtempSync(join(tmpdir(), 'board-apply-'))
    try {
      git(folder, 'clone', '-q', board.path, 'copy')
      execFileSync('git', ['-C', join(folder, 'copy'), 'apply'], { input: patch })
      expect(readFileSync(join(folder, 'copy', 'hello.txt'), 'utf8')).toBe('hello from turn 1\n')
    } finally {
      rmSync(folder, { recursive: true })
    }
    expect(await cli.ok(['cards', 'diff', id], { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat' } })).toContain('\u001b[32m+hello from turn 1\u001b[0m\n')
    expect(await cli.ok(['cards', 'diff', id, '--stat'])).toBe('hello.txt\t1\t0\n')
    expect(JSON.parse(await cli.ok(['cards', 'diff', id, '--json', 'stats,truncated']))).toEqual({ stats: { filesChanged: 1, insertions: 1, deletions: 0 }, truncated: false })
  })

  test('is told line by line whatever is in it, and nothing of it steers the terminal', async () => {
    writeFileSync(join(board.path, 'old name.txt'), `${Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n')}\n`)
    writeFileSync(join(board.path, 'query.sql'), 'select 1;\n-- a comment\n++ odd\n')
    git(board.path, 'add', '.')
    git(board.path, 'commit', '-qm', 'Files')
    const id = await done('shell', 'Odd files')
    expect((await cli.ok(['cards', 'diff', id, '--stat'])).trimEnd().split('\n')).toEqual(['bytes.dat\t0\t0', 'esc.txt\t1\t0', 'new name.txt\t1\t0', 'query.sql\t1\t2'])
    const { stats } = await cli.json<{ stats: unknown }>(['cards', 'diff', id])
    expect(stats).toEqual({ filesChanged: 4, insertions: 3, deletions: 2 })
    const drawn = await cli.ok(['cards', 'diff', id], { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat' } })
    expect(drawn).toContain('\u001b[31m--- a comment\u001b[0m\n\u001b[31m-++ odd\u001b[0m\n\u001b[32m++++ new\u001b[0m\n')
    expect(drawn).toContain('\u001b[1mrename to new name.txt\u001b[0m\n')
    expect(drawn).not.toContain('\u001b[2J')
  })

  test('is found by worktree and checked out where the person works, who is told of what is not committed', async () => {
    const id = await done('good', 'Look at it')
    const worktree = await cli.json<Record<string, unknown>>(['cards', 'worktree', id])
    expect(worktree).toMatchObject({ managed: true, gitBranch: `board/${id}-look-at-it` })
    expect(existsSync(join(worktree.worktreePath as string, 'hello.txt'))).toBe(true)

    const first = await cli.board(['cards', 'checkout', id], { cwd: board.path })
    expect({ code: first.code, told: first.stderr.includes(`board cards diff ${id}`) }).toEqual({ code: 0, told: true })
    git(worktree.worktreePath as string, 'add', '.')
    git(worktree.worktreePath as string, 'commit', '-qm', 'Say hello')
    const second = await cli.board(['cards', 'checkout', id], { cwd: board.path })
    expect({ code: second.code, told: second.stderr.includes('in no commit') }).toEqual({ code: 0, told: false })
    expect(existsSync(join(board.path, 'hello.txt'))).toBe(true)

    writeFileSync(join(board.path, 'README'), 'Changed here.\n')
    const refused = await cli.board(['cards', 'checkout', id], { cwd: board.path })
    expect({ code: refused.code, said: refused.stderr.includes('local changes') }).toEqual({ code: 5, said: true })
    git(board.path, 'checkout', '-q', '--', 'README')
    git(board.path, 'switch', '-q', 'main')
    expect((await cli.board(['cards', 'checkout', id])).code).toBe(2)
  })

  test('is fetched where the branch is only at the remote, and planted hooks do not run', async () => {
    const id = await done('good', 'Far away')
    const { worktreePath } = await cli.json(['cards', 'worktree', id])
    git(worktreePath!, 'add', '.')
    git(worktreePath!, 'commit', '-qm', 'Say hello')
    const folder = mkdtempSync(join(tmpdir(), 'board-clone-'))
    try {
      git(folder, 'clone', '-q', '--single-branch', '--branch', 'main', board.path, 'copy')
      const copy = join(folder, 'copy')
      const hook = join(copy, '.git', 'hooks', 'post-checkout')
      writeFileSync(hook, `#!/bin/sh\ntouch ${join(folder, 'MARK')}\n`, { mode: 0o755 })
      await cli.ok(['cards', 'checkout', id], { cwd: copy })
      expect(git(copy, 'branch', '--show-current').trim()).toBe(`board/${id}-far-away`)
      expect(existsSync(join(copy, 'hello.txt'))).toBe(true)
      expect(existsSync(join(folder, 'MARK'))).toBe(false)
      const never = await newCard('good', 'Never ran')
      expect((await cli.board(['cards', 'checkout', never], { cwd: copy })).code).toBe(5)
    } finally {
      rmSync(folder, { recursive: true })
    }
  })

  test('is merged, and a conflict names the files and ends with 5', async () => {
    const [first, second] = [await done('good', 'Wins'), await done('good', 'Loses')]
    const { worktreePath } = await cli.json(['cards', 'worktree', second])
    writeFileSync(join(worktreePath!, 'hello.txt'), 'something else\n')
    expect(await cli.json(['cards', 'merge', first, '--squash'])).toMatchObject({ merged: true, into: 'main', commit: git(board.path, 'rev-parse', 'main').trim() })
    expect(readFileSync(join(board.path, 'hello.txt'), 'utf8')).toBe('hello from turn 1\n')
    const before = git(board.path, 'rev-parse', 'main')
    const { code, stderr } = await cli.board(['cards', 'merge', second])
    expect({ code, named: stderr.includes('hello.txt') }).toEqual({ code: 5, named: true })
    expect(git(board.path, 'rev-parse', 'main')).toBe(before)
  })

  test('is summarized, and approve lets the card move on', async () => {
    const id = await done()
    expect(await cli.ok(['cards', 'summary', id])).toBe('I wrote hello.txt as asked.\n')
    expect(await cli.ok(['cards', 'approve', id])).toBe(`${id}\tapproved\n`)
    expect((await eventually('the card in its next column', async () => {
      const card = await board.card(id)
      return card.columnType === 'done' ? card : undefined
    })).status).toBe('completed')
    expect((await cli.board(['cards', 'approve', id])).code).toBe(5)
  })
})
