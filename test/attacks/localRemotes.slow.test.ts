import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const secret = 'a secret of another repository'
let board: AgentBoard
let path: string
/** A repository in the project's folder, to which the project's branches are pushed. */
let remote: string
/** A repository and a folder that the agent cannot reach. */
let other: string
let victim: string
let projectId: string
let count = 0
afterAll(() => board.close())

const git = (cwd: string, ...args: string[]): string =>
  execFileSync('git', ['-c', 'user.name=Owner', '-c', 'user.email=owner@example.org', ...args], {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  }).trim()

function makeRepository(folder: string, content: string): void {
  git(folder, 'init', '-q', '--initial-branch=main')
  writeFileSync(join(folder, 'file'), content)
  git(folder, 'add', 'file')
  git(folder, 'commit', '-qm', 'First')
}

beforeEach(async () => {
  board ??= await startFolderBoard({ qwen: { command: ['sh', 'run.sh'], protocol: 'command' } }, { sandbox: 'require' })
  path = board.folder(`project-${++count}`)
  other = board.folder(`other-${count}`)
  victim = board.folder(`victim-${count}`)
  remote = join(path, 'remote.git')
  makeRepository(path, 'own')
  makeRepository(other, secret)
  git(path, 'clone', '-q', '--bare', path, remote)
  git(path, 'remote', 'add', 'origin', './remote.git')
  git(path, 'fetch', '-q', 'origin')
  git(path, 'branch', '-q', '--set-upstream-to=origin/main')
  writeFileSync(join(path, 'run.sh'), 'echo changed > file; git commit -qam Change; echo done\n')
  git(path, 'add', 'run.sh')
  git(path, 'commit', '-qm', 'Second')
  git(path, 'push', '-q', 'origin', 'main')
  projectId = (await board.client.projects.create({ name: `project-${count}`, path })).id
})

/** Runs a card to its end, in a worktree or in the project's folder. */
async function runCard(useWorktree: boolean): Promise<string> {
  const columns = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns[1]!.id,
    agent: 'qwen',
    useWorktree,
  })
  await eventually('the end of the agent', async () => {
    const { status } = await board.client.cards.get({ projectId, cardId })
    if (status === 'failed') throw new Error(JSON.stringify(await board.client.agents.messages({ projectId, cardId })))
    return status === 'completed'
  })
  return cardId
}
/** Runs a script as an agent in the project's folder. */
async function attack(script: string): Promise<void> {
  const own = readFileSync(join(path, 'run.sh'), 'utf8')
  writeFileSync(join(path, 'run.sh'), `${script}\necho done\n`)
  await runCard(false)
  writeFileSync(join(path, 'run.sh'), own)
}
const push = (cardId: string) => board.client.branches.push({ projectId, cardId })
const branchesIn = (folder: string) => git(folder, 'for-each-ref', '--format=%(refname:short)', 'refs/heads')

describe.skipIf(!hasBubblewrap)('a repository in a folder that an agent can change', () => {
  test('is fetched and pushed to', async () => {
    const clone = board.folder(`clone-${count}`)
    git(clone, 'clone', '-q', remote, '.')
    writeFileSync(join(clone, 'news'), 'news')
    git(clone, 'add', 'news')
    git(clone, 'commit', '-qm', 'News')
    git(clone, 'push', '-q')
    const cardId = await runCard(true)
    const { gitBranch } = await board.client.cards.get({ projectId, cardId })
    expect(git(path, 'show', `${gitBranch}:news`)).toBe('news')
    await push(cardId)
    expect(branchesIn(remote)).toContain(gitBranch)
    expect(git(remote, 'show', `${gitBranch}:file`)).toBe('changed')
  })

  test('runs its hooks in the sandbox', async () => {
    await attack(
      `printf '#!/bin/sh\\necho ran > remote.git/ran; echo ran > "${victim}/ran"; cat "${other}/file" > copied\\n' > remote.git/hooks/post-receive; chmod +x remote.git/hooks/post-receive`,
    )
    await push(await runCard(true))
    expect(existsSync(join(victim, 'ran'))).toBe(false)
    expect(existsSync(join(remote, 'copied')) && readFileSync(join(remote, 'copied'), 'utf8')).not.toContain(secret)
  })

  test('gets no objects of another repository', async () => {
    await attack(
      `echo '${other}/.git/objects' > remote.git/objects/info/alternates; echo ${git(other, 'rev-parse', 'HEAD')} > remote.git/refs/heads/main`,
    )
    const cardId = await runCard(true)
    const { gitBranch } = await board.client.cards.get({ projectId, cardId })
    expect(git(path, 'show', `${gitBranch}:file`)).not.toContain(secret)
    expect(() => git(path, 'cat-file', '-e', git(other, 'rev-parse', 'HEAD'))).toThrow()
  })

  test('is not replaced by another repository behind a link', async () => {
    renameSync(remote, join(path, 'was.git'))
    symlinkSync(join(other, '.git'), remote)
    const cardId = await runCard(true)
    await expect(push(cardId)).rejects.toMatchObject({ message: expect.stringContaining('is a link') })
    expect(branchesIn(other)).toBe('main')
  })
})
