import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { startFolderBoard, type AgentBoard } from '../support/agents/agentBoard.ts'
import { hasBubblewrap } from '../support/sandbox/bubblewrap.ts'
import { eventually } from '../support/waiting/eventually.ts'

const secret = 'a secret of the other project'
let board: AgentBoard
/** The folder of a project whose agents attack. It contains the folder of the attacked project. */
let outer: string
let inner: string
/** The folder of a project whose content the attacked project must not get. */
let other: string
let outerId: string
let innerId: string
let count = 0
beforeAll(async () => {
  const scripted = { command: ['sh', 'run.sh'], protocol: 'command' as const }
  board = await startFolderBoard({ qwen: scripted }, { sandbox: 'require' })
})
afterAll(() => board.close())

const git = (cwd: string, ...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=Owner', '-c', 'user.email=owner@example.org', ...args], { cwd })

function makeRepository(path: string, content: string): void {
  git(path, 'init', '-q', '--initial-branch=main')
  writeFileSync(join(path, 'file'), content)
  git(path, 'add', 'file')
  git(path, 'commit', '-qm', 'First')
}

beforeEach(async () => {
  outer = board.folder(`outer-${++count}`)
  inner = join(outer, 'inner')
  other = board.folder(`other-${count}`)
  mkdirSync(inner)
  makeRepository(other, secret)
  outerId = (await board.client.projects.create({ name: 'outer', path: outer })).id
})
const addInner = async () => {
  innerId = (await board.client.projects.create({ name: 'inner', path: inner })).id
}

/** Waits for the end of a card's agent. Returns the status and the transcript. */
async function endOf(projectId: string, cardId: string) {
  const { status } = await eventually('the end of the agent', async () => {
    const card = await board.client.cards.get({ projectId, cardId })
    return ['completed', 'failed'].includes(card.status) ? card : undefined
  })
  const messages = await board.client.agents.messages({ projectId, cardId })
  return { status, said: messages.map(({ content }) => content).join('\n') }
}

/** Runs a script as the agent of a new card. */
async function run(projectId: string, path: string, script: string, useWorktree: boolean) {
  writeFileSync(join(path, 'run.sh'), `{ ${script}\n} > out 2>&1; echo done\n`)
  const columns = await board.client.columns.list({ projectId })
  const { id: cardId } = await board.client.cards.create({
    projectId,
    title: 'Work',
    prompt: 'Do it.',
    columnId: columns[1]!.id,
    agent: 'qwen',
    useWorktree,
  })
  return endOf(projectId, cardId)
}
const attack = (script: string) => run(outerId, outer, `OTHER='${other}'; ${script}`, false)

describe.skipIf(!hasBubblewrap)('a card stops with a reason if an agent of another project', () => {
  test('replaced the folder by a link to another project', async () => {
    await addInner()
    await attack(`mv inner was; ln -s "$OTHER" inner`)
    const { status, said } = await run(innerId, other, 'cat file', true)
    expect(status).toBe('failed')
    expect(said).toContain('is not the folder that was selected for the project')
    expect(said).toContain('board projects edit')
  })

  test('replaced the folder by another one', async () => {
    await addInner()
    await attack('mv inner was; mkdir inner; echo "echo planted" > inner/run.sh')
    expect((await run(innerId, inner, 'true', false)).said).toContain('is not the folder that was selected')
  })

  test.each([
    ['in it', 'inner'],
    ['above it', '.'],
  ])('created a repository %s of another project', async (_, place) => {
    // Without a folder between them, the guard of the outer folder prevents the repository above.
    outer = join(outer, 'deeper')
    inner = join(outer, 'inner')
    mkdirSync(inner, { recursive: true })
    await addInner()
    const { status } = await run(
      outerId,
      join(outer, '..'),
      `cd deeper; echo "gitdir: ${other}/.git" > ${place}/.git`,
      false,
    )
    expect(status).toBe('completed')
    const { said } = await run(innerId, inner, 'git show HEAD:file', true)
    expect(said).toContain('was not in a Git repository when it was selected')
  })

  test('replaced the repository by one that references the objects of another project', async () => {
    makeRepository(inner, 'own')
    await addInner()
    await attack(
      `cd inner; mv .git ../was; git init -q --initial-branch=main; echo "$OTHER/.git/objects" > .git/objects/info/alternates`,
    )
    const { status, said } = await run(innerId, inner, 'git show HEAD:file', true)
    expect(status).toBe('failed')
    expect(said).toMatch(/The Git repository of .* is not the one that was selected/)
  })
})

describe.skipIf(!hasBubblewrap)('a person confirms', () => {
  test('another folder and a new repository by setting the path again', async () => {
    await addInner()
    makeRepository(inner, 'own')
    expect((await run(innerId, inner, 'true', true)).said).toContain('was not in a Git repository')
    await board.client.projects.update({ id: innerId, path: inner })
    const { status } = await run(innerId, inner, 'cat file', false)
    expect(status).toBe('completed')
    expect(readFileSync(join(inner, 'out'), 'utf8')).toBe('own')
  })
})
