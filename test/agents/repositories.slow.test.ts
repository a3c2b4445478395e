import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { periodicJobs } from '../../daemon/process/periodicJobs.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { exported, imported } from '../transfers/files.ts'
import { makeRepository, startAgentBoard, type AgentBoard, type Card } from '../support/agents/agentBoard.ts'
import { gitIn } from '../support/git/gitIn.ts'

let board: AgentBoard
const shell = (script: string) => ({ protocol: 'command' as const, command: ['sh', '-c', script] })
beforeAll(async () => {
  board = await startAgentBoard({
    idle: shell('true'),
    looks: shell(
      'ls "$BOARD_REPOSITORIES"; for each in "$BOARD_REPOSITORIES"/*; do git -C "$each" branch --show-current; done',
    ),
    both: shell(
      'echo mine > mine; cd "$BOARD_REPOSITORIES/lib" && echo mine > mine && git add mine && git commit -q -m Mine && echo more > more',
    ),
    lib: shell('cd "$BOARD_REPOSITORIES/lib" && echo mine > README'),
    home: shell('echo mine > mine'),
    told: { fixture: 'echoing' },
    resolver: { fixture: 'well-behaved' },
  })
})
afterAll(() => board.close())

const failure = (promise: Promise<unknown>) =>
  promise.then(
    () => ({ code: 'done', message: '' }),
    ({ code, message, details }: { code: string; message: string; details?: unknown }) => ({ code, message, details }),
  )
let round = 0
/** A project with two more repositories, lib and docs. */
async function newProject() {
  const folder = board.folder(`several-${++round}`)
  const [path, lib, docs] = ['home', 'lib', 'docs'].map(name => makeRepository(join(folder, name))) as [
    string,
    string,
    string,
  ]
  const repositories = [
    { name: 'lib', path: lib },
    { name: 'docs', path: docs },
  ]
  const { id: projectId } = await board.client.projects.create({ name: 'Several', path, repositories })
  const columnId = (await board.client.columns.list({ projectId }))[1]!.id
  const card = async (agent: string, input = {}): Promise<Card> => {
    const { id } = await board.client.cards.create({
      projectId,
      title: 'Roof',
      prompt: 'Do it.',
      columnId,
      agent,
      ...input,
    })
    return eventually('the end of its agent', async () => {
      const found = await board.client.cards.get({ projectId, cardId: id })
      return found.endedAt !== null && found.status !== 'running' && found.status !== 'queued' ? found : undefined
    })
  }
  const of = ({ id }: { id: string }) => ({ projectId, cardId: id })
  const worktree = ({ id }: { id: string }, name?: string) => {
    const own = join(board.dataDir, 'worktrees', projectId, id)
    return name ? join(`${own}.repositories`, name) : own
  }
  const list = async (each: { id: string }) => board.client.branches.repositories(of(each))
  return { projectId, path, lib, docs, repositories, columnId, card, of, worktree, list }
}

describe('the repositories of a project', () => {
  test('are validated like its folder, and must not overlap', async () => {
    const { projectId, path, lib, repositories } = await newProject()
    const set = (all: Array<{ name: string; path: string }>) =>
      failure(board.client.projects.update({ id: projectId, repositories: all }))
    const plain = board.folder(`plain-${round}`)
    mkdirSync(join(lib, 'below'), { recursive: true })
    const inside = makeRepository(join(path, 'inside'))
    const worktree = join(board.folder(`linked-${round}`), 'worktree')
    gitIn(lib, 'worktree', 'add', '-q', '-b', 'linked', worktree)
    const cases: Array<[string, string, string]> = [
      ['relative', 'lib', 'The repository x: path must be absolute.'],
      ['missing', join(plain, 'missing'), 'does not exist'],
      ['plain', plain, 'must be the top folder of a Git repository'],
      ['below', join(lib, 'below'), 'must be the top folder of a Git repository'],
      ['inside', inside, 'must be separate from the project itself'],
      ['home', path, 'must be separate from the project itself'],
      ['a worktree of another', worktree, 'must be separate from the repository lib'],
      ['data', makeRepository(join(board.dataDir, 'mine')), "must be separate from the board's data folder"],
    ]
    for (const [what, given, message] of cases)
      expect({
        what,
        ...(await set([
          { name: 'lib', path: lib },
          { name: 'x', path: given },
        ])),
      }).toMatchObject({
        what,
        message: expect.stringContaining(message),
        details: [{ path: 'repositories.1.path' }],
      })
    for (const name of ['', '..', 'a/b', 'home', 'Home', '-x', 'x.', 'x.unfinished', 'x.git', 'a b', 'LIB'])
      expect({
        name,
        ...(await set([
          { name: 'lib', path: lib },
          { name, path: plain },
        ])),
      }).toMatchObject({ name, code: 'VALIDATION_FAILED' })
    expect(await set(Array.from({ length: 21 }, (_, at) => ({ name: `r${at}`, path: lib })))).toMatchObject({
      message: expect.stringContaining('must have at most 20 entries'),
    })
    expect((await board.client.projects.get({ id: projectId })).repositories).toEqual(repositories)
    // The main repository must not move into one of the others either.
    expect(await failure(board.client.projects.update({ id: projectId, path: join(lib, 'below') }))).toMatchObject({
      message: expect.stringContaining('must be separate from the project itself'),
    })
    await board.client.projects.update({ id: projectId, repositories: [{ name: 'lib', path: `${lib}/../lib/` }] })
    expect((await board.client.projects.get({ id: projectId })).repositories).toEqual([{ name: 'lib', path: lib }])
    expect(await board.client.projects.files({ projectId, repository: 'lib' })).toEqual(['README'])
    expect(await failure(board.client.projects.files({ projectId, repository: 'docs' }))).toMatchObject({
      code: 'VALIDATION_FAILED',
      message: "repository must be one of the project's repositories: home, lib",
    })
  })
})

test('an export contains its repositories, and an import restores those that exist here', async () => {
  const { projectId, path, lib, docs } = await newProject()
  const file = await exported(board, projectId)
  expect(file.projects[0].repositories).toEqual([
    { name: 'lib', path: lib },
    { name: 'docs', path: docs },
  ])
  rmSync(docs, { recursive: true })
  const { projectIds } = await imported(board, { format: 'board' }, file)
  expect(await board.client.projects.get({ id: projectIds[0]! })).toMatchObject({
    path,
    repositories: [{ name: 'lib', path: lib }],
  })
})

describe('a card', () => {
  test('gets copies of the ignored files in the .worktreeinclude of each repository', async () => {
    const { path, lib, card, worktree } = await newProject()
    for (const [folder, name] of [
      [path, '.env.home'],
      [lib, '.env.lib'],
    ] as const) {
      writeFileSync(join(folder, '.gitignore'), '.env.*\n')
      writeFileSync(join(folder, '.worktreeinclude'), `${name}\n`)
      gitIn(folder, 'add', '.')
      gitIn(folder, 'commit', '-qm', 'Include')
      for (const each of ['.env.home', '.env.lib']) writeFileSync(join(folder, each), `${each} of ${folder}\n`)
    }
    const made = await card('idle')
    const copied = (folder: string) => readdirSync(folder).filter(name => name.startsWith('.env'))
    expect(copied(worktree(made))).toEqual(['.env.home'])
    expect(copied(worktree(made, 'lib'))).toEqual(['.env.lib'])
    expect(readFileSync(join(worktree(made, 'lib'), '.env.lib'), 'utf8')).toBe(`.env.lib of ${lib}\n`)
    expect(copied(worktree(made, 'docs'))).toEqual([])
  })

  test('has a worktree on one branch in each, and unchanged ones are deleted with it without a question', async () => {
    const { lib, docs, path, card, of, worktree, list } = await newProject()
    gitIn(docs, 'branch', 'board/1-roof')
    const made = await card('looks')
    const said = (await board.client.agents.messages(of(made))).map(({ content }) => content).join('\n')
    const branch = made.gitBranch!
    expect(said).toContain(`docs\nlib\n${branch}\n${branch}`)
    expect(await list(made)).toEqual(
      [
        ['', path],
        ['lib', lib],
        ['docs', docs],
      ].map(([name, at]) => ({
        name,
        path: at,
        worktree: true,
        branch,
        mergesInto: 'main',
        remote: null,
        baseCommit: gitIn(at!, 'rev-parse', 'main'),
        touched: false,
        additions: 0,
        deletions: 0,
      })),
    )
    for (const repository of ['', 'lib', 'docs'])
      expect((await board.client.agents.diff({ ...of(made), repository })).stats.filesChanged).toBe(0)
    await board.client.cards.delete(of(made))
    await removeDeleted()
    expect(
      [worktree(made), worktree(made, 'lib'), `${worktree(made)}.repositories`].map(each => existsSync(each)),
    ).toEqual([false, false, false])
    for (const each of [path, lib, docs]) expect(gitIn(each, 'branch', '--list', branch)).toBe('')
    expect(existsSync(join(board.dataDir, 'patches'))).toBe(false)
  })

  test('has a diff in each changed one, and its work there is protected', async () => {
    const { lib, card, of, worktree, list } = await newProject()
    const made = await card('both')
    expect((await list(made)).map(({ name, touched, additions }) => ({ name, touched, additions }))).toEqual([
      { name: '', touched: true, additions: 1 },
      { name: 'lib', touched: true, additions: 2 },
      { name: 'docs', touched: false, additions: 0 },
    ])
    expect((await board.client.agents.diff({ ...of(made), repository: 'lib' })).diff).toMatch(/b\/mine[\s\S]*b\/more/)
    expect((await board.client.agents.diff(of(made))).diff).not.toContain('more')
    expect((await board.client.agents.history(of(made)))[0]).toMatchObject({ filesChanged: 3 })
    gitIn(worktree(made), 'add', '.')
    gitIn(worktree(made), 'reset', '-q', '--hard')
    expect(await failure(board.client.cards.delete(of(made)))).toMatchObject({
      code: 'WORKTREE_DIRTY',
      message: expect.stringContaining('It is in the repository lib.'),
    })
    await board.client.cards.delete({ ...of(made), force: true })
    await removeDeleted()
    expect(existsSync(worktree(made, 'lib'))).toBe(false)
    const patches = readdirSync(join(board.dataDir, 'patches')).filter(name => name.startsWith(`card-${made.id}-lib-`))
    expect(patches.length).toBeGreaterThan(0)
    expect(readFileSync(join(board.dataDir, 'patches', patches[0]!), 'utf8')).toMatch(/mine[\s\S]*more/)
    // Its commits are on its branch, from which the worktree of a restored card is recreated.
    expect(gitIn(lib, 'log', '-1', '--format=%s', made.gitBranch!)).toBe('Mine')
    await board.client.cards.restore(of(made))
    await board.client.agents.relaunch(of(made))
    await eventually('its worktree', () => existsSync(join(worktree(made, 'lib'), 'mine')))
  })

  test('is merged in all changed ones, or in none', async () => {
    const { path, lib, docs, card, of, worktree } = await newProject()
    const made = await card('both')
    const before = [path, lib, docs].map(each => gitIn(each, 'rev-parse', 'main'))
    writeFileSync(join(lib, 'mine'), 'theirs\n')
    gitIn(lib, 'add', '.')
    gitIn(lib, 'commit', '-q', '-m', 'Theirs')
    expect(await failure(board.client.agents.merge(of(made)))).toMatchObject({
      code: 'MERGE_CONFLICT',
      message: expect.stringContaining('In the repository lib: The merge has conflicts in mine'),
      details: [{ path: 'mine', message: 'has a conflict in lib' }],
    })
    expect(gitIn(path, 'rev-parse', 'main')).toBe(before[0])
    gitIn(lib, 'reset', '-q', '--hard', before[1]!)
    // A file that the merge cannot overwrite is also found before any merge.
    writeFileSync(join(lib, 'more'), 'somebody else has this file here\n')
    expect(await failure(board.client.agents.merge(of(made)))).toMatchObject({ code: 'WORKTREE_DIRTY' })
    expect(gitIn(path, 'rev-parse', 'main')).toBe(before[0])
    expect(gitIn(worktree(made, 'lib'), 'status', '--porcelain')).toBe('?? more')
    gitIn(lib, 'clean', '-q', '-f')
    const merged = await board.client.agents.merge(of(made))
    expect(merged).toMatchObject({ merged: true, into: 'main' })
    expect(merged.repositories.map(({ repository, merged: is }) => [repository, is])).toEqual([
      ['', true],
      ['lib', true],
    ])
    expect([path, lib, docs].map(each => readdirSync(each).filter(name => name !== '.git'))).toEqual([
      ['README', 'mine'],
      ['README', 'mine', 'more'],
      ['README'],
    ])
    expect(gitIn(docs, 'rev-parse', 'main')).toBe(before[2])
    expect(await board.client.agents.merge(of(made))).toMatchObject({ merged: false })
    const activity = (await board.client.activity.list(of(made))).items.flatMap(({ action, changes }) =>
      action === 'card.merged' ? changes.map(({ to }) => to) : [],
    )
    expect(activity).toContain('main in lib')
  })

  test('is merged once all of its repositories with work are, and no longer if one of them loses its merge', async () => {
    const { path, lib, card, of } = await newProject()
    const made = await card('both')
    const read = () => board.client.cards.get(of(made))
    await board.client.agents.merge({ ...of(made), repository: 'lib' })
    expect(await read()).toMatchObject({ mergedAt: null, mergedInto: null })
    await board.client.agents.merge({ ...of(made), repository: '' })
    expect(await read()).toMatchObject({ mergedInto: 'main', mergedCommit: gitIn(path, 'rev-parse', 'main') })
    gitIn(lib, 'reset', '-q', '--hard', 'HEAD~1')
    expect(await read()).toMatchObject({ mergedAt: null, mergedCommit: null, mergedInto: null })
    expect((await board.client.agents.merge(of(made))).repositories.map(({ merged }) => merged)).toEqual([false, true])
    expect(await read()).toMatchObject({ mergedInto: 'main', mergedCommit: gitIn(path, 'rev-parse', 'main') })
  })

  test('is merged in the repository with its changes, even if that is not its home', async () => {
    const { path, lib, card, of } = await newProject()
    const made = await card('lib')
    gitIn(path, 'checkout', '-q', '--detach')
    expect((await board.client.agents.merge(of(made))).repositories).toMatchObject([
      { repository: 'lib', merged: true, into: 'main' },
    ])
    expect(readFileSync(join(lib, 'README'), 'utf8')).toBe('mine\n')
    expect(await failure(board.client.agents.merge({ ...of(made), repository: '' }))).toMatchObject({
      code: 'CONFLICT',
    })
  })

  test('is pushed and updated in each', async () => {
    const { lib, card, of, worktree, list } = await newProject()
    const remote = board.folder(`lib-${round}.git`)
    gitIn(remote, 'init', '-q', '--bare')
    gitIn(lib, 'remote', 'add', 'origin', `file://${remote}`)
    const made = await card('lib')
    const pushed = await board.client.branches.push({ ...of(made), repository: 'lib' })
    expect(pushed).toMatchObject({ branch: made.gitBranch, pushed: true })
    expect(gitIn(remote, 'show', `${made.gitBranch!}:README`)).toBe('mine')
    expect(await failure(board.client.branches.push(of(made)))).toMatchObject({
      message: expect.stringContaining('has no remote'),
    })
    writeFileSync(join(lib, 'theirs'), 'theirs\n')
    gitIn(lib, 'add', '.')
    gitIn(lib, 'commit', '-q', '-m', 'Theirs')
    const updated = await board.client.branches.update({ ...of(made), repository: 'lib' })
    expect(updated).toMatchObject({ updated: true, baseCommit: gitIn(lib, 'rev-parse', 'main') })
    expect(existsSync(join(worktree(made, 'lib'), 'theirs'))).toBe(true)
    expect((await list(made)).find(({ name }) => name === 'lib')).toMatchObject({
      baseCommit: updated.baseCommit,
      additions: 1,
      deletions: 1,
    })
    writeFileSync(join(lib, 'README'), 'theirs\n')
    gitIn(lib, 'commit', '-q', '-a', '-m', 'Read theirs')
    expect(await failure(board.client.branches.update({ ...of(made), repository: 'lib' }))).toMatchObject({
      code: 'MERGE_CONFLICT',
    })
  })

  test('is reviewed in each, with the repository of each comment', async () => {
    const { lib, card, of, worktree } = await newProject()
    const made = await card('lib')
    const comment = { repository: 'lib', path: 'README', line: 1, body: 'Why?' }
    expect(
      await failure(
        board.client.reviews.create({ ...of(made), verdict: 'comment', comments: [{ ...comment, repository: '' }] }),
      ),
    ).toMatchObject({
      code: 'VALIDATION_FAILED',
    })
    await board.client.reviews.putDraft({ ...of(made), comments: [comment] })
    expect((await board.client.reviews.getDraft(of(made))).comments).toMatchObject([comment])
    const review = await board.client.reviews.create({ ...of(made), verdict: 'comment' })
    expect(review.comments).toMatchObject([{ ...comment, text: 'mine' }])
    expect(gitIn(lib, 'for-each-ref', `refs/board/reviews/${made.id}`)).not.toBe('')
    writeFileSync(join(worktree(made, 'lib'), 'README'), 'yours\n')
    const since = await board.client.agents.diff({ ...of(made), repository: 'lib', since: review.id })
    expect(since.diff).toMatch(/-mine\n\+yours/)
    const file = await board.client.reviews.changedFile({
      ...of(made),
      repository: 'lib',
      path: 'README',
      side: 'old',
      since: review.id,
    })
    expect(Buffer.from(file.content, 'base64').toString()).toBe('mine\n')
    await board.client.cards.delete({ ...of(made), force: true })
    await removeDeleted()
    expect(gitIn(lib, 'for-each-ref', `refs/board/reviews/${made.id}`)).toBe('')
  })

  test('is removed when its project is deleted, also from former repositories', async () => {
    const { projectId, lib, docs, card, worktree } = await newProject()
    const made = await card('both')
    await board.client.projects.update({ id: projectId, repositories: [{ name: 'docs', path: docs }] })
    await board.client.projects.delete({ id: projectId })
    await eventually('the end of its worktrees', async () => {
      await run('remove worktrees of projects')
      return !existsSync(worktree(made, 'lib'))
    })
    expect(gitIn(lib, 'worktree', 'list').split('\n')).toHaveLength(1)
    expect(gitIn(docs, 'branch', '--list', made.gitBranch!)).toBe('')
    expect(readdirSync(join(board.dataDir, 'patches')).some(name => name.startsWith(`card-${made.id}-lib-`))).toBe(true)
  })

  test('has complete worktrees again if the server was killed while creating them', async () => {
    const { lib, docs, card, of, worktree, list } = await newProject()
    const made = await card('idle')
    const branch = made.gitBranch!
    // One worktree was started, but is not in its place yet. The other was only planned.
    rmSync(join(worktree(made, 'lib'), 'README'))
    renameSync(worktree(made, 'lib'), `${worktree(made, 'lib')}.unfinished`)
    rmSync(worktree(made, 'docs'), { recursive: true })
    gitIn(docs, 'worktree', 'prune')
    gitIn(docs, 'branch', '-q', '-D', branch)
    await board.client.agents.relaunch(of(made))
    await eventually('the worktrees', () =>
      ['lib', 'docs'].every(
        name => existsSync(join(worktree(made, name), 'README')) && !existsSync(`${worktree(made, name)}.unfinished`),
      ),
    )
    for (const each of [lib, docs])
      expect(gitIn(each, 'worktree', 'list', '--porcelain')).toContain(`refs/heads/${branch}`)
    expect((await list(made)).map(({ touched }) => touched)).toEqual([false, false, false])
  })

  test('starts at the branch of another card in each, and without a worktree only reads them', async () => {
    const { projectId, lib, card, of, worktree, list } = await newProject()
    const first = await card('both')
    const second = await card('idle', { baseCardId: first.id })
    expect(readFileSync(join(worktree(second, 'lib'), 'more'), 'utf8')).toBe('more\n')
    expect((await list(second)).map(({ touched }) => touched)).toEqual([false, false, false])
    const none = await card('told', { useWorktree: false })
    expect(existsSync(`${worktree(none)}.repositories`)).toBe(false)
    expect(JSON.stringify(await board.client.agents.messages(of(none)))).toContain(realpathSync(lib))
    await board.client.projects.update({ id: projectId, repositories: [] })
    const alone = await card('idle')
    expect(existsSync(`${worktree(alone)}.repositories`)).toBe(false)
  })
})

const run = (name: string) =>
  periodicJobs(board.server.app)
    .find(each => each.name.startsWith(name))!
    .run(new AbortController().signal)
/** Removes cards that were in the trash for a day, and ended agents. */
async function removeDeleted(): Promise<void> {
  await board.server.app.db.transaction(async tx => {
    await tx.run(`UPDATE cards SET deleted_at = '2026-01-01T00:00:00.000Z' WHERE deleted_at IS NOT NULL`)
  })
  await run('remove the worktrees of cards')
}
