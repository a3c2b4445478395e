import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeRepository, startAgentBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'
import { eventually } from '../support/waiting/eventually.ts'

let board: AgentBoard
let cli: CommandLine
/** Renames and changes a file, and creates binary files, with lines that look like diff lines, and with control characters that clear a terminal. */
const oddFiles = `mv 'old name.txt' 'new name.txt'; echo more >> 'new name.txt'; printf 'select 1;\\n+++ new\\n' > query.sql; printf '\\0\\1' > bytes.dat; printf '\\033[2J\\n' > esc.txt`

beforeAll(async () => {
  board = await startAgentBoard({
    good: { fixture: 'well-behaved' },
    lib: { protocol: 'command', command: ['sh', '-c', 'cd "$BOARD_REPOSITORIES/lib" && echo mine > mine'] },
    own: { protocol: 'command', command: ['sh', '-c', 'echo mine > "mine-$BOARD_CARD_ID"'] },
    shell: { fixture: 'none', protocol: 'command', command: ['sh', '-c', oddFiles] },
  })
  cli = commandLine({ BOARD_URL: board.url, BOARD_TOKEN: board.token, BOARD_PROJECT: board.projectId })
})
afterAll(async () => {
  cli.close()
  await board.close()
})

const newCard = async (agent: string, title = 'Work') =>
  (await board.client.cards.create({ projectId: board.projectId, title, agent })).id
const git = (folder: string, ...args: string[]) =>
  execFileSync('git', ['-C', folder, '-c', 'user.name=Test', '-c', 'user.email=test@example.org', ...args], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
const done = async (agent = 'good', title?: string) => {
  const id = await newCard(agent, title)
  await cli.ok(['cards', 'run', id, '--wait'])
  return id
}

test('a diff is a patch in a pipe, colored on a terminal, and counted by --stat', async () => {
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
  expect(await cli.ok(['cards', 'diff', id], { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat' } })).toContain(
    '\u001b[32m+hello from turn 1\u001b[0m\n',
  )
  expect(await cli.ok(['cards', 'diff', id, '--stat'])).toBe('hello.txt\t1\t0\n')
  expect(JSON.parse(await cli.ok(['cards', 'diff', id, '--json', 'stats,truncated']))).toEqual({
    stats: { filesChanged: 1, insertions: 1, deletions: 0 },
    truncated: false,
  })
})

test('a diff is printed line by line regardless of its content, and does not control the terminal', async () => {
  writeFileSync(join(board.path, 'old name.txt'), `${Array.from({ length: 20 }, (_, at) => `line ${at}`).join('\n')}\n`)
  writeFileSync(join(board.path, 'query.sql'), 'select 1;\n-- a comment\n++ odd\n')
  git(board.path, 'add', '.')
  git(board.path, 'commit', '-qm', 'Files')
  const id = await done('shell', 'Odd files')
  expect((await cli.ok(['cards', 'diff', id, '--stat'])).trimEnd().split('\n')).toEqual([
    'bytes.dat\t0\t0',
    'esc.txt\t1\t0',
    'new name.txt\t1\t0',
    'query.sql\t1\t2',
  ])
  const { stats } = await cli.json<{ stats: unknown }>(['cards', 'diff', id])
  expect(stats).toEqual({ filesChanged: 4, insertions: 3, deletions: 2 })
  const drawn = await cli.ok(['cards', 'diff', id], { env: { BOARD_FORCE_TTY: '100', PAGER: 'cat' } })
  expect(drawn).toContain('\u001b[31m--- a comment\u001b[0m\n\u001b[31m-++ odd\u001b[0m\n\u001b[32m++++ new\u001b[0m\n')
  expect(drawn).toContain('\u001b[1mrename to new name.txt\u001b[0m\n')
  expect(drawn).not.toContain('\u001b[2J')
})

test("a card's worktree is shown and its branch checked out in the user's folder, with a notice of uncommitted files", async () => {
  const id = await done('good', 'Look at it')
  const worktree = await cli.json<Record<string, unknown>>(['cards', 'worktree', id])
  expect(worktree).toMatchObject({ managed: true, gitBranch: `board/${id}-look-at-it` })
  expect(existsSync(join(worktree.worktreePath as string, 'hello.txt'))).toBe(true)

  const first = await cli.board(['cards', 'checkout', id], { cwd: board.path })
  expect({ code: first.code, told: first.stderr.includes(`board cards diff ${id}`) }).toEqual({ code: 0, told: true })
  git(worktree.worktreePath as string, 'add', '.')
  git(worktree.worktreePath as string, 'commit', '-qm', 'Say hello')
  const second = await cli.board(['cards', 'checkout', id], { cwd: board.path })
  expect({ code: second.code, told: second.stderr.includes('has uncommitted changes') }).toEqual({
    code: 0,
    told: false,
  })
  expect(existsSync(join(board.path, 'hello.txt'))).toBe(true)

  writeFileSync(join(board.path, 'README'), 'Changed here.\n')
  const refused = await cli.board(['cards', 'checkout', id], { cwd: board.path })
  expect({ code: refused.code, said: refused.stderr.includes('local changes') }).toEqual({ code: 5, said: true })
  git(board.path, 'checkout', '-q', '--', 'README')
  git(board.path, 'switch', '-q', 'main')
  expect((await cli.board(['cards', 'checkout', id])).code).toBe(2)
})

test('a branch that exists only at the remote is fetched, and planted hooks do not run', async () => {
  const id = await done('good', 'Far away')
  const { worktreePath } = await cli.json(['cards', 'worktree', id])
  git(worktreePath!, 'add', '.')
  // Avoids the commit id of another card in the same second.
  git(worktreePath!, 'commit', '-qm', 'Say hello from far away')
  const folder = mkdtempSync(join(tmpdir(), 'board-clone-'))
  try {
    git(folder, 'clone', '-q', '--single-branch', '--branch', 'main', board.path, 'copy')
    const copy = join(folder, 'copy')
    const hook = join(copy, '.git', 'hooks', 'post-checkout')
    writeFileSync(hook, `#!/bin/sh\ntouch ${join(folder, 'MARK')}\n`, { mode: 0o755 })
    writeFileSync(join(copy, 'hello.txt'), 'mine\n')
    const inTheWay = await cli.board(['cards', 'checkout', id], { cwd: copy })
    expect(inTheWay.code).toBe(5)
    expect(inTheWay.stderr).toContain('would be overwritten by checkout: hello.txt\n')
    writeFileSync(join(copy, '.git', 'info', 'exclude'), 'hello.txt\n')
    expect((await cli.board(['cards', 'checkout', id], { cwd: copy })).code).toBe(5)
    expect(readFileSync(join(copy, 'hello.txt'), 'utf8')).toBe('mine\n')
    rmSync(join(copy, 'hello.txt'))
    const dirty = await cli.board(['cards', 'worktree', id, '--remove'])
    expect(dirty.code).toBe(5)
    expect(dirty.stderr).toContain(`the worktree of card ${id} contains work that exists nowhere else\n`)
    expect(dirty.stderr).not.toContain('force')
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

test('a merge can be tried, and a conflict names the files and exits with 5', async () => {
  const [first, second] = [await done('good', 'Wins'), await done('good', 'Loses')]
  const { worktreePath } = await cli.json(['cards', 'worktree', second])
  writeFileSync(join(worktreePath!, 'hello.txt'), 'something else\n')
  const start = git(board.path, 'rev-parse', 'main')
  expect(await cli.board(['cards', 'merge', first, '--dry-run', '-q'])).toMatchObject({ code: 0 })
  expect((await cli.board(['cards', 'merge', first, '--dry-run'])).stderr).toBe(
    `Card ${first} can be merged into main.\n`,
  )
  expect(git(board.path, 'rev-parse', 'main')).toBe(start)
  expect(await cli.json(['cards', 'merge', first, '--squash'])).toMatchObject({
    merged: true,
    into: 'main',
    commit: git(board.path, 'rev-parse', 'main').trim(),
  })
  expect(readFileSync(join(board.path, 'hello.txt'), 'utf8')).toBe('hello from turn 1\n')
  const before = git(board.path, 'rev-parse', 'main')
  for (const options of [['--dry-run'], []]) {
    const { code, stderr } = await cli.board(['cards', 'merge', second, ...options])
    expect({ code, named: stderr.includes('hello.txt') }).toEqual({ code: 5, named: true })
    expect(stderr).toContain(`board cards update ${second} --resolve`)
  }
  expect(git(board.path, 'rev-parse', 'main')).toBe(before)
})

test('a merged card reads "Merged into main" until main loses the merge', async () => {
  const id = await done('shell', 'Read')
  const row = async () =>
    (await cli.ok(['cards', 'list', '--all'])).split('\n').find(line => line.startsWith(`${id}\t`))
  expect(await row()).not.toContain('Merged')
  await cli.ok(['cards', 'merge', id])
  expect(await row()).toMatch(/\tMerged into main$/)
  expect(await cli.ok(['cards', 'list', '--all'], { env: { BOARD_FORCE_TTY: '140', NO_COLOR: '1' } })).toMatch(
    /MERGE\n/,
  )
  const viewed = await cli.ok(['cards', 'view', id])
  expect(viewed).toContain('mergedInto\tMerged into main\n')
  expect(viewed).toContain(`mergedCommit\t${git(board.path, 'rev-parse', 'main')}`)
  expect(await cli.json(['cards', 'view', id])).toMatchObject({ mergedInto: 'main' })
  expect((await cli.board(['cards', 'merge', id])).stderr).toBe(`main already contains the work of card ${id}.\n`)
  git(board.path, 'reset', '-q', '--hard', 'HEAD~1')
  expect(await row()).not.toContain('Merged')
  expect(await cli.ok(['cards', 'view', id])).not.toContain('merged')
})

test('a merge moves the card to done and removes its worktree with flags, and offers both on a terminal', async () => {
  const [first, second] = [await done('shell', 'By flags'), await done('own', 'By answers')]
  const flags = await cli.board(['cards', 'merge', first, '--done', '--remove-worktree'])
  expect(flags.stderr).toBe(
    `Merged card ${first} into main.\nMoved card ${first} to its done column.\nRemoved the worktree of card ${first}.\n`,
  )
  expect(await board.card(first)).toMatchObject({ columnId: board.columns.done, gitBranch: null })
  const answers = [
    ['done column? [y/N]', 'y\n'],
    [`worktree of card ${second}? [y/N]`, 'n\n'],
  ] as const
  const { code, text } = await onTerminal(['cards', 'merge', second], { cwd: cli.home, env: cli.env, answers })
  expect(code).toBe(0)
  expect(text).toContain(`Moved card ${second} to its done column.`)
  expect(await board.card(second)).toMatchObject({ columnId: board.columns.done, mergedInto: 'main' })
  expect((await board.card(second)).gitBranch).not.toBeNull()
})

test('a card is pushed and updated; a card for which that is impossible reports the reason', async () => {
  const id = await done('good', 'Pushed')
  const { worktreePath } = await cli.json(['cards', 'worktree', id])
  writeFileSync(join(worktreePath!, 'pushed.txt'), 'pushed\n')
  expect(await cli.board(['cards', 'push', id])).toMatchObject({
    code: 5,
    stderr: expect.stringContaining('no remote to push to'),
  })
  const remote = board.folder('remote.git')
  git(board.path, 'init', '-q', '--bare', remote)
  git(board.path, 'remote', 'add', 'origin', remote)
  const { gitBranch } = await board.card(id)
  const pushed = await cli.board(['cards', 'push', id, '--json'])
  expect(JSON.parse(pushed.stdout)).toMatchObject({ remote: 'origin', branch: gitBranch, pushed: true })
  expect((await cli.board(['cards', 'push', id])).stderr).toBe(`origin is up to date with ${gitBranch}.\n`)

  writeFileSync(join(board.path, 'news.txt'), 'news\n')
  git(board.path, 'add', 'news.txt')
  git(board.path, 'commit', '-q', '-m', 'News')
  expect(await cli.json(['cards', 'update', id, '--rebase'])).toMatchObject({ updated: true, branch: gitBranch })
  expect((await cli.board(['cards', 'update', id])).stderr).toBe(`${gitBranch} is up to date with its base.\n`)
  expect(await cli.board(['cards', 'push', id])).toMatchObject({ code: 5, stderr: expect.stringContaining('force') })
  await cli.ok(['cards', 'push', id, '--force'])
  expect((await cli.board(['cards', 'push', '999'])).code).toBe(3)
  git(board.path, 'remote', 'remove', 'origin')
  git(board.path, 'merge', '-q', '--squash', gitBranch!)
  git(board.path, 'commit', '-q', '-m', 'All of it')
  const { stderr } = await cli.board(['cards', 'update', id])
  expect(stderr).toContain('Its work is already in main')
  expect(stderr).toContain(`${gitBranch} is unchanged.\n`)
  expect(stderr).not.toContain('up to date with its base')
})

test('a card is summarized, and approve moves the card on', async () => {
  const id = await done()
  expect(await cli.ok(['cards', 'summary', id])).toBe('I wrote hello.txt as asked.\n')
  expect(await cli.ok(['cards', 'approve', id])).toBe(`${id}\tapproved\n`)
  expect(
    (
      await eventually('the card in its next column', async () => {
        const card = await board.card(id)
        return card.columnType === 'done' ? card : undefined
      })
    ).status,
  ).toBe('completed')
  expect((await cli.board(['cards', 'approve', id])).code).toBe(5)
})

test('a project is created with several repositories', async () => {
  const [lib, docs] = ['lib-new', 'docs-new'].map(name => makeRepository(board.folder(name))) as [string, string]
  const args = ['projects', 'create', 'several', '--path', board.folder('several'), '--repository']
  expect((await cli.board([...args, lib])).stderr).toContain('NAME=FOLDER')
  const made = await cli.json([...args, `lib=${lib}`, '--repository', `docs=${docs}`])
  expect(made.repositories).toEqual([
    { name: 'lib', path: lib },
    { name: 'docs', path: docs },
  ])
})

test('a project has several repositories, and a card has its work in each', async () => {
  const [lib, docs] = ['lib', 'docs'].map(name => makeRepository(board.folder(name))) as [string, string]
  expect((await cli.board(['projects', 'edit', '--add-repository', lib])).stderr).toContain('NAME=FOLDER')
  await cli.ok(['projects', 'edit', '--add-repository', `lib=${lib}`, '--add-repository', `docs=${docs}`])
  expect(await cli.ok(['projects', 'view', '--json', 'repositories'])).toContain(docs)
  expect((await cli.board(['projects', 'edit', '--remove-repository', 'other'])).stderr).toContain('it has lib, docs')
  await cli.ok(['projects', 'edit', '--remove-repository', 'docs'])
  const id = await done('lib', 'Two')
  const rows = (await cli.ok(['cards', 'repositories', id])).split('\n').map(row => row.split('\t').slice(0, 5))
  const { gitBranch } = await board.card(id)
  expect(rows.slice(0, 2)).toEqual([
    ['home', gitBranch, '0', '0', 'false'],
    ['lib', gitBranch, '1', '0', 'true'],
  ])
  expect(await cli.ok(['cards', 'diff', id, '--repository', 'lib', '--stat'])).toBe('mine\t1\t0\n')
  expect(await cli.ok(['cards', 'diff', id, '--repository', 'home', '--stat'])).toBe('')
  expect(await cli.board(['cards', 'push', id, '--repository', 'docs'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining("must be one of the project's repositories: home, lib"),
  })
  await cli.ok(['cards', 'review', id, '--repository', 'lib', '--file', 'mine', '--line', '1', '-m', 'Why?', '--send'])
  expect(await cli.ok(['cards', 'review', id])).toContain('lib: mine:1')
  expect((await cli.board(['cards', 'update', id, '--repository', 'lib'])).stderr).toContain(
    'is up to date with its base',
  )
  expect((await cli.board(['cards', 'merge', id])).stderr).toBe(`Merged card ${id} into main in lib.\n`)
  expect(existsSync(join(lib, 'mine'))).toBe(true)
  await cli.ok(['projects', 'edit', '--remove-repository', 'lib'])
})
