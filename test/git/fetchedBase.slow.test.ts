import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { eventually } from '../support/waiting/eventually.ts'
import { processesWith } from '../support/processes/processFiles.ts'
import { commit, git, useProjects, write, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
/** The bare repository to which the project was pushed, and another user's clone. */
let remote: string
let other: string
let count = 0
beforeEach(async () => {
  project = await projects.project(`project-${++count}`)
  remote = join(projects.folder, `remote-${count}.git`)
  other = join(projects.folder, `other-${count}`)
  git(projects.folder, 'init', '-q', '--bare', '-b', 'main', remote)
  git(project.path, 'remote', 'add', 'origin', `file://${remote}`)
  git(project.path, 'push', '-q', '-u', 'origin', 'main')
  git(projects.folder, 'clone', '-q', remote, other)
})
const account = () => join(projects.home, '.gitconfig')
afterEach(() => writeFileSync(account(), ''))

/** A commit of another user, pushed. */
function theirs(name: string): string {
  const made = commit(other, name, `${name}\n`)
  git(other, 'push', '-q', 'origin', 'HEAD:main')
  return made
}
const head = () => git(project.path, 'rev-parse', 'main')
const config = (...args: string[]) => git(project.path, 'config', ...args)
/** A program that records that it ran. */
function program(name: string, then = 'exit 1'): string {
  const path = join(projects.folder, `${name}-${count}`)
  writeFileSync(path, `#!/bin/sh\ntouch '${path}.ran'\n${then}\n`)
  chmodSync(path, 0o755)
  return path
}
const ran = (path: string) => existsSync(`${path}.ran`)
const unfetched = (reason: RegExp) =>
  expect.stringMatching(
    new RegExp(`^main could not be fetched from origin, so the work starts at the local commit: ${reason.source}$`),
  )

test("new work starts at the upstream's commit, which only the remote branch in the repository records", async () => {
  const local = head()
  const refs = git(project.path, 'for-each-ref', '--format=%(refname)')
  git(other, 'tag', 'v1')
  git(other, 'push', '-q', '--tags')
  const commitOfTheirs = theirs('news')
  write(project.path, 'README', 'Changed by hand.\n')
  const card = await project.card()
  const place = await card.start()
  expect(place).toEqual({ ...place, baseCommit: commitOfTheirs, remark: undefined })
  expect(readFileSync(join(place.cwd, 'news'), 'utf8')).toBe('news\n')
  expect([head(), git(project.path, 'rev-parse', 'origin/main')]).toEqual([local, commitOfTheirs])
  expect(git(project.path, 'for-each-ref', '--format=%(refname)')).toBe(
    refs.replace('refs/heads/main', `refs/heads/${place.branch}\nrefs/heads/main`),
  )
  expect(git(project.path, 'status', '--porcelain')).toBe('M README')
  expect(['FETCH_HEAD', 'shallow'].filter(name => existsSync(join(project.path, '.git', name)))).toEqual([])
  expect(readdirSync(join(project.path, '.git')).filter(name => name.includes('board'))).toEqual([])
  expect((await card.diff()).stats).toMatchObject({ filesChanged: 0 })

  theirs('later')
  expect(await card.start()).toEqual(place)
  await card.remove()
  expect(await card.row()).toMatchObject({ worktreePath: null, gitBranch: null })
})

test('a branch with its own commits stays the base, and its divergence is reported', async () => {
  const mine = commit(project.path, 'mine', 'mine\n')
  expect(await (await project.card()).start()).toMatchObject({ baseCommit: mine })
  theirs('news')
  const { baseCommit, remark } = await (await project.card()).start()
  expect([baseCommit, remark]).toEqual([
    mine,
    'main and origin/main have diverged, so the work starts at the local commit of main.',
  ])
})

test.each<[string, () => void]>([
  ['is detached', () => git(project.path, 'checkout', '-q', '--detach')],
  ['has no upstream', () => git(project.path, 'branch', '--unset-upstream')],
  [
    'follows a branch of the same repository',
    () => {
      git(project.path, 'branch', 'base')
      git(project.path, 'branch', '-u', 'base')
    },
  ],
  ['is a mirror', () => config('--replace-all', 'remote.origin.fetch', '+refs/heads/*:refs/heads/*')],
])('a checkout that %s is not fetched, without a message', async (_, change) => {
  theirs('news')
  change()
  const local = git(project.path, 'rev-parse', 'HEAD')
  const place = await (await project.card()).start()
  expect(place).toMatchObject({ baseCommit: local })
  expect(place.remark).toBeUndefined()
})

test('a merge and a diff of work on a fetched base contain only that work', async () => {
  const local = head()
  const [base] = [theirs('news')]
  const work = async (name: string) => {
    const card = await project.card()
    const { cwd } = await card.start()
    commit(cwd, name, `${name}\n`)
    commit(cwd, name, `${name} again\n`)
    return card
  }
  const [first, second] = [await work('one'), await work('two')]
  const { diff, stats } = await first.diff()
  expect(stats).toMatchObject({ filesChanged: 1 })
  expect(diff).not.toContain('news')
  const merged = await first.merge({ squash: true })
  expect(git(project.path, 'rev-list', '--parents', '-1', 'main')).toBe(`${merged.commit} ${base}`)
  expect(git(project.path, 'rev-list', '--count', `${local}..main`)).toBe('2')
  expect(git(project.path, 'show', '--name-only', '--format=', 'main')).toBe('one')
  expect(git(project.path, 'status', '--porcelain')).toBe('')
  await second.merge({ squash: true })
  expect(git(project.path, 'show', '--name-only', '--format=', 'main')).toBe('two')
})

test('a squashed merge into a branch with newer commits keeps the fetched commits unchanged', async () => {
  const base = theirs('news')
  const card = await project.card()
  commit((await card.start()).cwd, 'work', 'work\n')
  const mine = commit(project.path, 'mine', 'mine\n')
  const merged = await card.merge({ squash: true })
  expect(git(project.path, 'rev-list', '--parents', '-1', 'main')).toBe(`${merged.commit} ${mine} ${base}`)
  expect(git(project.path, 'ls-files').split('\n')).toEqual(['README', 'mine', 'news', 'work'])
})

test.each<[string, RegExp, () => void]>([
  ['is gone', /'.*' does not appear to be a git repository/, () => config('remote.origin.url', `${remote}-gone`)],
  ['has no such branch', /couldn't find remote ref refs\/heads\/main/, () => git(remote, 'branch', '-m', 'main', 'x')],
  [
    'refuses, and its address holds a password',
    /unable to access 'http:\/\/[^ ]*127\.0\.0\.1:1\/x\/': .*/,
    () => config('remote.origin.url', 'http://ann:s3cretword@127.0.0.1:1/x'),
  ],
  [
    'is reached by an SSH command that fails',
    /Permission denied \(publickey\)\./,
    () => {
      const ssh = program('ssh', 'echo "git@host: Permission denied (publickey)." >&2; exit 255')
      writeFileSync(account(), `[core]\n\tsshCommand = ${ssh}\n`)
      config('remote.origin.url', 'git@host:x/y.git')
    },
  ],
])('if the upstream %s, work starts at the local commit and a message gives the reason', async (_, reason, change) => {
  change()
  const place = await (await project.card()).start()
  expect(place).toMatchObject({ baseCommit: head(), remark: expect.stringMatching(reason) })
  expect(place.remark).not.toMatch(/s3cretword|\n/)
  expect(place.remark).toMatch(/^main could not be fetched from origin, so the work starts at the local commit: /)
})

test('a hanging remote times out with all its processes, while others work', async () => {
  const mark = `hang-${process.pid}-${count}`
  const ssh = program('ssh', 'sleep 600 & exec sleep 600')
  writeFileSync(account(), `[core]\n\tsshCommand = env BOARD_RUN_ID=${mark} ${ssh}\n`)
  config('remote.origin.url', 'git@host:x/y.git')
  const cards = await Promise.all([project.card(), project.card()])
  const begun = performance.now()
  const starts = Promise.all(cards.map(card => card.start({ fetchTimeoutMs: 1500 })))
  await eventually('the fetch', () => ran(ssh))
  const bystander = await projects.project(`bystander-${count}`)
  await (await bystander.card()).start()
  for (const place of await starts)
    expect(place).toMatchObject({ baseCommit: head(), remark: unfetched(/no answer within 1.5 s/) })
  expect(performance.now() - begun).toBeGreaterThan(1400)
  await eventually('the end of the started processes', () => processesWith(mark).length === 0)
})

test('cards that start concurrently share a fetch', async () => {
  const ssh = program('ssh', `echo x >> '${join(projects.folder, `count-${count}`)}'; exec sh -c "$2"`)
  writeFileSync(account(), `[core]\n\tsshCommand = ${ssh}\n[ssh]\n\tvariant = simple\n`)
  config('remote.origin.url', `host:${remote}`)
  const base = theirs('news')
  const cards = await Promise.all(Array.from({ length: 6 }, () => project.card()))
  const places = await Promise.all(cards.map(card => card.start()))
  expect(places.map(({ baseCommit, remark }) => [baseCommit, remark])).toEqual(cards.map(() => [base, undefined]))
  expect(readFileSync(join(projects.folder, `count-${count}`), 'utf8').split('x').length - 1).toBeLessThanOrEqual(2)
})

test("the account's own configuration of remote transports applies", async () => {
  const base = theirs('news')
  writeFileSync(account(), `[url "file://${projects.folder}/"]\n\tinsteadOf = "work:"\n`)
  config('remote.origin.url', `work:remote-${count}.git`)
  expect(await (await project.card()).start()).toMatchObject({ baseCommit: base })
})

test("the repository's own configuration runs no programs and redirects nothing", async () => {
  const base = theirs('news')
  const names = ['ssh', 'upload', 'helper', 'proxy', 'ext', 'monitor', 'hook', 'askpass', 'alternates', 'filter']
  const programs = Object.fromEntries(names.map(name => [name, program(name, 'cat; exit 0')]))
  const { ssh, upload, helper, proxy, ext, monitor, hook, askpass, alternates } = programs as Record<string, string>
  const elsewhere = join(projects.folder, `elsewhere-${count}.git`)
  git(projects.folder, 'init', '-q', '--bare', '-b', 'main', elsewhere)
  for (const [name, value] of [
    ['core.sshCommand', ssh],
    ['core.gitProxy', proxy],
    ['core.askPass', askpass],
    ['core.fsmonitor', monitor],
    ['core.alternateRefsCommand', alternates],
    ['remote.origin.uploadpack', upload],
    ['remote.origin.vcs', 'ext'],
    ['credential.helper', `!${helper}`],
    ['protocol.allow', 'always'],
    ['protocol.ext.allow', 'always'],
    [`url.file://${elsewhere}.insteadOf`, `file://${remote}`],
    [`url.ext::${ext}.insteadOf`, 'file://'],
    ['fetch.recurseSubmodules', 'true'],
    ['fetch.prune', 'true'],
    ['fetch.pruneTags', 'true'],
    ['remote.origin.tagOpt', '--tags'],
  ] as const)
    config(name, value!)
  git(project.path, 'tag', 'kept')
  git(project.path, 'update-ref', 'refs/remotes/origin/kept', 'HEAD')
  const hooks = join(project.path, '.git/hooks')
  mkdirSync(hooks, { recursive: true })
  for (const name of ['reference-transaction', 'post-checkout', 'pre-auto-gc', 'post-merge'])
    writeFileSync(join(hooks, name), `#!/bin/sh\nexec ${hook}\n`, { mode: 0o755 })
  expect(await (await project.card()).start()).toMatchObject({ baseCommit: base })
  expect(git(project.path, 'for-each-ref', '--format=%(refname)')).toContain('refs/remotes/origin/kept')

  for (const [url, reason] of [
    [`ext::${ext} x`, /transport 'ext' not allowed/],
    ['file:///a%zz', /the address is not a valid file URL/],
    ['ssh://host/x', /.*/],
    ['git://127.0.0.1:1/x', /.*/],
    [`--upload-pack=${upload}`, /.*/],
    ['-oProxyCommand=x:y', /.*/],
    ['hg::x', /.*/],
  ] as const) {
    config('--replace-all', 'remote.origin.url', url)
    expect(await (await project.card()).start(), url).toMatchObject({ remark: unfetched(reason) })
  }
  expect(names.filter(name => ran(programs[name]!))).toEqual([])
})

test("a remote that asks for a password gets none, and the repository's helper is not called", async () => {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(request.headers.authorization ?? '')
    response.writeHead(401, { 'www-authenticate': 'Basic realm="x"' }).end()
  })
  await new Promise<void>(done => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as { port: number }
  try {
    config('remote.origin.url', `http://127.0.0.1:${port}/x.git`)
    config('credential.helper', `!${program('helper', 'echo username=u; echo password=planted')}`)
    const own = await (await project.card()).start()
    expect(own).toMatchObject({
      remark: unfetched(/.*(terminal prompts disabled|Authentication failed|could not read).*/),
    })
    expect(asked).not.toContain(`Basic ${btoa('u:planted')}`)
    writeFileSync(account(), `[credential]\n\thelper = "!f() { echo username=u; echo password=meant; }; f"\n`)
    await (await project.card()).start()
    expect(asked).toContain(`Basic ${btoa('u:meant')}`)
  } finally {
    await new Promise(done => server.close(done))
  }
})
