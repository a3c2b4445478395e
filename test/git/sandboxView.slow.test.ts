import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { withoutWriting } from '../../src/agents/sessions/sandbox/repositoryMounts.ts'
import { openGitView } from '../../src/worktrees/gitView.ts'
import { commit, git, useProjects, write, unrecorded, type TestCard, type TestProject } from './cards.ts'
import { fingerprint, hasSandbox, openSession, type Session } from './sandboxSession.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let branch: string
let session: Session
let count = 0
const start = async () => {
  count++
  project = await projects.project()
  git(project.path, 'tag', 'first')
  git(project.path, 'branch', 'other')
  card = await project.card()
  const started = await card.start()
  worktree = started.cwd
  branch = started.branch!
  session = await openSession(projects.worktrees, place())
}
const gitDir = () => join(project.path, '.git')
/** The card's worktree. */
const place = () => ({ project: unrecorded(project.path), worktreePath: worktree, branch })
const otherRefs = () => git(project.path, 'for-each-ref').replace(new RegExp(`^.*refs/heads/${branch}\n?`, 'm'), '')
const tip = (ref = branch) => git(project.path, 'rev-parse', ref)
const change = (name: string, text = name) =>
  session.run(`echo ${text} > ${name}; git add ${name}; git commit -qm 'Add ${name}'; git rev-parse HEAD`)

describe.runIf(hasSandbox)('Git in the sandbox', () => {
  beforeEach(start)

  test('an agent commits, amends, rebases, stashes, branches and packs, and only its own branch is exported, with the same commits', async () => {
    const before = otherRefs()
    change('a')
    session.run('git commit -q --amend -m "Add a, better"')
    change('b')
    change('c')
    session.run('echo more >> c; git stash; git stash list | grep -q WIP; git stash pop; git checkout -q -- c')
    session.run('git checkout -qb temporary; git commit -q --allow-empty -m Temporary; git tag mine; git checkout -q -')
    session.run('git rebase -q --onto HEAD~2 HEAD~1; git branch -D temporary; git gc -q; git fsck')
    expect(session.run('git worktree list')).toMatch(new RegExp(`^${project.path} .*\n${worktree} .*$`))
    const inside = session.run('git log --format=%H')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(worktree, 'log', '--format=%H')).toBe(inside)
    expect(git(worktree, 'status', '--porcelain')).toBe('')
    expect(otherRefs()).toBe(before)
    expect(git(project.path, 'fsck', '--full', '--strict')).toBe('')
    expect(await session.view.sync()).toEqual({ state: 'none' })
    // Without the agent's private objects, the repository has them all.
    rmSync(join(gitDir(), 'board'), { recursive: true })
    expect(git(worktree, 'fsck', '--full')).toBe('')
  })

  test("a stash and a separate branch are kept for the next session, which sees the repository's branches of that time", async () => {
    session.run(
      'git branch mine; echo x >> README; git stash -q; git gc -q; git branch -q loose; git tag -f first HEAD',
    )
    session.run('git update-ref refs/heads/other HEAD; git update-ref refs/heads/main HEAD')
    const later = commit(project.path, 'later', 'later\n')
    session = await openSession(projects.worktrees, place())
    expect(session.run('git rev-parse main')).toBe(later)
    expect(session.run('git branch --list mine loose --format="%(refname:short)"')).toBe('loose\nmine')
    expect(session.run('git stash pop -q; git diff --stat')).toContain('README')
    expect(git(project.path, 'for-each-ref')).not.toMatch(/mine|loose|stash/)
  })

  test('commits of a remote are fetched for the agent only', async () => {
    const remote = await projects.project(`remote-${count}`)
    const fetched = commit(remote.path, 'theirs', 'theirs\n')
    git(project.path, 'remote', 'add', 'origin', remote.path)
    session = await openSession(projects.worktrees, place())
    const before = otherRefs()
    expect(session.run('git fetch -q origin; git rev-parse origin/main')).toBe(fetched)
    session.run('git merge -q --no-edit origin/main')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(otherRefs()).toBe(before)
    expect(git(project.path, 'show', `${branch}:theirs`)).toBe('theirs')
  })

  test('a submodule can be added, changed and committed', async () => {
    const library = await projects.project(`library-${count}`)
    session.run(`git -c protocol.file.allow=always submodule --quiet add ${library.path} lib`)
    session.run('cd lib; echo x > x; git add x; git commit -qm x; cd ..; git add lib; git commit -qm "Add lib"')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'ls-tree', branch, 'lib')).toMatch(/^160000 commit/)
    await session.view.close()
    expect(git(worktree, 'status', '--porcelain')).toBe('')
    session = await openSession(projects.worktrees, place())
    expect(session.run('git -C lib log -1 --format=%s')).toBe('x')
  })

  test('a worktree without submodules can be removed with Git after a session', async () => {
    await session.view.close()
    git(project.path, 'worktree', 'remove', worktree)
    expect(existsSync(worktree)).toBe(false)
  })

  test('staged changes and the HEAD of a session do not prevent others from packing the repository', async () => {
    session.run(
      'echo x > x; git add x; git commit -q --allow-empty -m one; git checkout -q --detach; echo y > y; git add y',
    )
    await session.view.sync()
    expect(git(project.path, 'gc', '--prune=now')).toBe('')
    expect(git(project.path, 'fsck', '--full')).toBe('')
  })

  test.each([
    ['delete an object', 'rm -rf "$G"/objects/??; rm -f "$G"/board-store/objects/*/* "$S"/*/*'],
    ['change a pack', 'for f in "$G"/board-store/objects/pack/* "$S"/pack/*; do chmod u+w "$f"; echo x >> "$f"; done'],
    ['prune the objects', 'git reflog expire --all --expire=now; git gc -q --prune=now; git prune; git repack -qad'],
    [
      'move another branch',
      'git update-ref refs/heads/other HEAD^ || git branch -f other HEAD; echo x > "$G"/refs/heads/other',
    ],
    ['move the branch of the project', 'git commit -q --allow-empty -m x; git update-ref refs/heads/main HEAD'],
    ['move a tag', 'git commit -q --allow-empty -m x; git tag -f first HEAD; git tag new HEAD'],
    ['delete a branch', 'git branch -D other; rm -f "$G"/packed-refs "$G"/refs/heads/*; git pack-refs --all'],
    [
      'set a configuration',
      'git config core.fsmonitor /bin/false; git config --worktree core.hooksPath /tmp; echo x >> "$G"/config',
    ],
    ['write a hook', 'mkdir -p "$G"/hooks; echo "#!/bin/sh" > "$G"/hooks/pre-commit; chmod +x "$G"/hooks/pre-commit'],
    ['replace the hooks', 'mv "$G"/hooks "$G"/was; ln -s /tmp "$G"/hooks'],
    [
      "write another worktree's files",
      'for f in "$G"/worktrees/*/HEAD; do echo "ref: refs/heads/main" > "$f"; done; git worktree prune',
    ],
    ['add a worktree', 'git worktree add -q inner other; git worktree add -q -b more ../more'],
    [
      'move the worktree pointers',
      'for f in commondir gitdir; do echo /tmp > "$A"/$f; rm -f "$A"/$f; mv "$A"/$f "$A"/x; done',
    ],
    ['replace the .git file', 'rm -f .git; mv .git was; mkdir .git; git init -q; echo "gitdir: /tmp" > .git'],
    ['move the Git folder', 'mv "$G" "$G".was; rm -rf "$G"'],
    [
      'write the shallow list',
      'git rev-parse HEAD > "$G"/shallow; echo x > "$G"/info/attributes; echo x > "$G"/info/exclude',
    ],
    ['name another store', 'echo /tmp > "$G"/objects/info/alternates; echo /tmp > "$G"/board-objects/info/alternates'],
    [
      'replace the main worktree',
      'echo "ref: refs/heads/other" > "$G"/HEAD; rm -f "$G"/index; echo . > "$G"/commondir',
    ],
    ["reach other agents' folders", 'ls "$G"/board && exit 3; echo x > "$G"/board/x; rm -rf "$G"/board'],
  ])('no agent can %s', async (_, script) => {
    commit(project.path, 'packed', 'packed\n')
    git(project.path, 'gc', '-q')
    commit(project.path, 'loose', 'loose\n')
    const second = await (await project.card()).start()
    session = await openSession(projects.worktrees, place())
    const without = /^board(\/|$)|^objects\/pack\/|^worktrees\/[^/]+\/index$|^(worktrees\/[^/]+\/)?logs\//
    const look = () => [
      fingerprint(gitDir(), without),
      git(project.path, 'rev-parse', '--all'),
      readFileSync(join(worktree, '.git'), 'utf8'),
      git(second.cwd, 'status'),
    ]
    const before = look()
    const admin = git(worktree, 'rev-parse', '--git-dir')
    const { status, output } = session.attempt(`G=${gitDir()}; S=${gitDir()}/objects; A=${admin}; ${script}`)
    expect(status, output).not.toBe(3)
    const inside = session.attempt('git log -1 --format=%H').output
    await session.view.sync()
    const [files, tips, ...others] = look()
    expect([files, ...others]).toEqual(
      [before[0], ...before.slice(2)].map((each, at) => (at === 0 ? withWork(each, files) : each)),
    )
    if (tips !== before[1]) expect(tip()).toBe(inside)
    expect(git(project.path, 'fsck', '--full')).toBe('')
    expect(git(project.path, 'status', '--porcelain')).toBe('')
  })

  /** Its own branch can move, and objects can be added. */
  const withWork = (before: unknown, after: unknown) => {
    const [known, files] = [before as Record<string, string>, after as Record<string, string>]
    const isNew = (path: string) => !(path in known) && /^objects\/[0-9a-f]{2}(\/|$)/.test(path)
    const work = Object.keys(files).filter(path => path === `refs/heads/${branch}` || isNew(path))
    return { ...known, ...Object.fromEntries(work.map(path => [path, files[path]])) }
  }

  test('the branch is exported for a diff, a merge or a deletion, without an explicit request', async () => {
    change('seen')
    expect((await card.diff()).diff).toContain('+seen')
    const inside = session.run('git rev-parse HEAD')
    expect(tip()).toBe(inside)
    change('merged')
    write(worktree, 'loose', 'not committed\n')
    session.run('echo staged > staged; git add staged')
    await card.merge()
    expect(git(project.path, 'ls-tree', '--name-only', 'main').split('\n')).toEqual([
      'README',
      'loose',
      'merged',
      'seen',
      'staged',
    ])
    expect(session.run('git status --porcelain; git rev-parse HEAD')).toBe(tip())
    change('last')
    await expect(card.remove()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
    const last = session.run('git rev-parse HEAD')
    await card.remove(true)
    expect(tip()).toBe(last)
    expect(readdirSync(join(gitDir(), 'board'))).toEqual([])
  })

  test('staged changes and conflicts are visible outside', async () => {
    session.run('echo one > both; git add both; echo two > both')
    expect((await card.diff()).diff).toContain('+two')
    session.run('git rm -qf --cached both; rm both; git checkout -qb side; echo side > README; git commit -qam side')
    session.run('git checkout -q -; echo ours > README; git commit -qam ours; git merge -q side || true')
    await expect(card.merge()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringContaining('unresolved conflicts'),
    })
  })

  test("a user's commit in the worktree reaches the agent; if both have committed, the branch waits for a merge", async () => {
    const theirs = commit(worktree, 'theirs', 'theirs\n')
    await session.view.sync()
    expect(session.run('git status --porcelain; git rev-parse HEAD')).toBe(theirs)
    const person = commit(worktree, 'person', 'person\n')
    const agent = change('agent')
    expect(await session.view.sync()).toMatchObject({
      state: 'refused',
      reason: expect.stringContaining('refs/board/outside'),
    })
    expect(tip()).toBe(person)
    await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT' })
    session = await openSession(projects.worktrees, place())
    expect(session.run('git rev-parse HEAD')).toBe(agent)
    session.run('git add -A; git stash -q; git merge -q --no-edit refs/board/outside; git stash drop -q')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'ls-tree', '--name-only', branch)).toBe('README\nagent\nperson\ntheirs')
  })

  test('a stash or a branch that exists only in the sandbox is reported before the card is deleted', async () => {
    session.run('echo x >> README; git stash -q')
    await expect(card.remove()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
    session.run('git stash drop -q; git branch same HEAD')
    await card.remove()
    expect(existsSync(worktree)).toBe(false)
  })

  test('a thousand objects are exported, and the agent does not keep duplicates', async () => {
    session.run('for i in $(seq 1000); do echo $i > $i; done; git add .; git commit -qm many')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(session.run('git count-objects; git fsck; git status --porcelain')).toMatch(/^0 objects/)
    expect(git(project.path, 'fsck', '--full')).toBe('')
  })

  test('a worktree on another branch, or with a detached HEAD, is followed', async () => {
    git(worktree, 'checkout', '-q', '--detach')
    session = await openSession(projects.worktrees, { ...place(), branch: null })
    const detached = change('detached')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(worktree, 'rev-parse', 'HEAD')).toBe(detached)
    expect(tip()).toBe(tip('main'))
    git(worktree, 'checkout', '-qb', 'mine/too')
    session = await openSession(projects.worktrees, { ...place(), branch: 'mine/too' })
    expect(session.run('git branch --show-current; git status --porcelain')).toBe('mine/too')
    const work = change('work')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(tip('mine/too')).toBe(work)
  })

  test('leftovers of a killed server are removed when a session opens', async () => {
    const shadows = join(gitDir(), 'board')
    const [own] = readdirSync(shadows)
    const [old, young] = ['transfer-old', 'transfer-young'].map(name => join(shadows, own!, name))
    for (const folder of [old!, young!]) mkdirSync(folder)
    utimesSync(old!, new Date(0), new Date(0))
    await openSession(projects.worktrees, place())
    expect([old!, young!].map(folder => existsSync(folder))).toEqual([false, true])
    // Without a state, the server was killed while it created the Git folder.
    rmSync(join(shadows, own!, 'state.json'))
    write(join(shadows, own!), 'common/half', 'half\n')
    await openSession(projects.worktrees, place())
    expect(existsSync(join(shadows, own!, 'common/half'))).toBe(false)
  })

  test('a lock that is an hour old does not block', async () => {
    const common = join(gitDir(), 'board', readdirSync(join(gitDir(), 'board'))[0]!, 'common')
    const locks = [
      'packed-refs.lock',
      `refs/heads/${branch}.lock`,
      `worktrees/${readdirSync(join(common, 'worktrees'))[0]}/index.lock`,
    ]
    const hourAgo = Date.now() / 1000 - 3600
    for (const lock of locks) {
      writeFileSync(join(common, lock), '')
      utimesSync(join(common, lock), hourAgo, hourAgo)
    }
    session = await openSession(projects.worktrees, place())
    change('a')
    expect(locks.filter(lock => existsSync(join(common, lock)))).toEqual([])
  })
})

describe.runIf(hasSandbox)("Git in a project's own folder", () => {
  const own = () => ({ project: unrecorded(project.path), worktreePath: null, branch: null })
  beforeEach(async () => {
    project = await projects.project()
    session = await openSession(projects.worktrees, own())
  })

  test('the commits of an agent are exported, and the folder of its owner is clean', async () => {
    const made = change('a')
    session.run(
      'git checkout -qb more; echo x > x; git add x; git stash; git tag mine; git gc -q; git checkout -q main',
    )
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(tip('main')).toBe(made)
    expect(git(project.path, 'status', '--porcelain')).toBe('')
    expect(git(project.path, 'for-each-ref', '--format=%(refname)')).toBe('refs/heads/main')
    expect(git(project.path, 'fsck', '--full', '--strict')).toBe('')
  })

  test('the first commit of a repository is exported', async () => {
    git(project.path, 'switch', '-q', '--orphan', 'empty')
    session = await openSession(projects.worktrees, own())
    const made = change('a')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(tip('empty')).toBe(made)
    expect(git(project.path, 'status', '--porcelain')).toBe('')
    expect(await session.view.sync()).toEqual({ state: 'none' })
  })

  test("the next session sees the owner's branch, commits and staged files, and its own stash", async () => {
    session.run('echo x >> README; git stash -q')
    git(project.path, 'switch', '-q', '-c', 'theirs')
    const theirs = commit(project.path, 'theirs', 'theirs\n')
    write(project.path, 'staged', 'staged\n')
    git(project.path, 'add', 'staged')
    session = await openSession(projects.worktrees, own())
    expect(session.run('git branch --show-current; git rev-parse HEAD; git status --porcelain')).toBe(
      `theirs\n${theirs}\nA  staged`,
    )
    expect(session.run('git stash pop -q; git diff --stat')).toContain('README')
  })

  test('after a commit of the owner, an agent commits again', async () => {
    change('a')
    const theirs = commit(project.path, 'theirs', 'theirs\n')
    expect(await session.view.sync()).toMatchObject({
      state: 'refused',
      reason: expect.stringContaining('refs/board/outside'),
    })
    expect(tip('main')).toBe(theirs)
    session.run('git reset -q refs/board/outside; git add a; git commit -qm a')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'log', '--format=%s')).toBe('a\nChange theirs\nChange README')
    expect(git(project.path, 'status', '--porcelain')).toBe('')
  })

  test('an agent in a submodule commits there, and not to the repository around it', async () => {
    const inner = await projects.project(`inner-${count}`)
    git(project.path, '-c', 'protocol.file.allow=always', 'submodule', 'add', '-q', inner.path, 'inner')
    git(project.path, 'commit', '-qm', 'Add inner')
    const around = tip('main')
    session = await openSession(projects.worktrees, { ...own(), project: unrecorded(join(project.path, 'inner')) })
    const made = change('a')
    session.attempt('echo x > ../x; git -C .. commit --allow-empty -qm x')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(join(project.path, 'inner'), 'rev-parse', 'main')).toBe(made)
    expect(tip('main')).toBe(around)
    expect(existsSync(join(project.path, 'x'))).toBe(false)
  })

  test('in a part of a linked worktree the repository is as protected as in all of it', async () => {
    const place = join(projects.folder, `linked-${count}`)
    git(project.path, 'worktree', 'add', '-q', '-b', 'linked', place)
    mkdirSync(join(place, 'part'))
    session = await openSession(projects.worktrees, { ...own(), project: unrecorded(join(place, 'part')) })
    const before = git(project.path, 'rev-parse', 'main')
    const made = session.run('echo x > x; git add x; git commit -qm x; git rev-parse HEAD')
    session.attempt('git update-ref refs/heads/main HEAD; echo x > ../outside')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'rev-parse', 'main', 'linked')).toBe(`${before}\n${made}`)
    expect(existsSync(join(place, 'outside'))).toBe(false)
  })

  test.each([
    ['a hook', 'echo x > .git/hooks/pre-commit; mv .git/hooks .git/was; rm -rf .git/hooks'],
    [
      'the configuration',
      'git config core.fsmonitor x; echo x >> .git/config; mv .git/config .git/was; rm -f .git/config',
    ],
    ["the worktree's configuration", 'echo x >> .git/config.worktree; rm -f .git/config.worktree'],
    ['attributes', 'echo x > .git/info/attributes'],
    ['worktrees', 'mkdir -p .git/worktrees/x; git worktree add -q ../inner'],
    ['the Git folder', 'mv .git was; rm -rf .git/hooks'],
    ['files of other agents', 'mkdir -p .git/board/x/common; ln -s / .git/board/y'],
    ['the index', 'echo x > x; git add x; rm .git/index; ln -s /etc/passwd .git/index'],
    ['the HEAD', 'git checkout -qb x; rm .git/HEAD; ln -s refs/heads/x .git/HEAD'],
    ['the objects', 'rm -rf .git/objects/* .git/board-store/objects/*; echo / >> .git/objects/info/alternates'],
    ['a reflog', 'rm -f .git/logs/HEAD; ln -s /etc/passwd .git/logs/HEAD; echo x >> .git/logs/refs/heads/main'],
    ['a submodule', 'mv .git/modules .git/was; mkdir -p .git/modules/x; echo x > .git/modules/x/config'],
    ['the common Git folder', 'mkdir evil; echo ../evil > .git/commondir'],
  ])('no agent can change %s, even if its owner replaces a file in that time', async (_, script) => {
    mkdirSync(join(gitDir(), 'worktrees/kept'), { recursive: true })
    mkdirSync(join(gitDir(), 'modules/x'), { recursive: true })
    session = await openSession(projects.worktrees, own())
    git(project.path, 'config', 'user.name', 'Owner')
    git(project.path, 'config', '--file', '.git/modules/x/config', 'user.name', 'Owner')
    const look = () => fingerprint(gitDir(), /^board\/\.main\/common\//)
    const before = look()
    session.attempt(script)
    session.attempt('git config core.fsmonitor x; git add -A; git commit -qm x')
    expect(look()).toEqual(before)
  })

  test('an agent cannot turn a folder or a part of a working tree into a repository', async () => {
    const folder = join(projects.folder, `folder-${count}`)
    const part = join(project.path, 'part')
    for (const path of [folder, part]) {
      mkdirSync(path)
      const session = await openSession(projects.worktrees, { ...own(), project: unrecorded(path) })
      const attempt = session.attempt(
        'git init -q .; mkdir -p .git/objects; echo x > .git/HEAD; mv .git was; echo x > made',
      )
      expect(attempt.output).toContain('Read-only file system')
      expect(readdirSync(join(path, '.git'))).toEqual([])
      await session.view.close()
      expect(readdirSync(path)).toEqual(['made'])
    }
    expect(session.run('git init -q inner; git -C inner rev-parse --git-dir')).toBe('.git')
  })

  test('a read-only session cannot write, and leaves no files in a folder without a repository', async () => {
    const folder = join(projects.folder, `read-${count}`)
    mkdirSync(folder)
    const view = await openGitView(projects.worktrees, { ...own(), project: unrecorded(folder) })
    expect(withoutWriting(view.mounts, folder)).toEqual([{ kind: 'ro', target: folder }])
    await view.close()
  })
})

describe('two sessions of a card', () => {
  beforeEach(start)

  test('closing a view leaves the files of another session of the same card', async () => {
    const inWorktree = () => ({ project: unrecorded(project.path), worktreePath: worktree, branch })
    const modules = join(project.path, '.git/worktrees', basename(worktree), 'modules')
    await session.view.close()
    expect(existsSync(modules)).toBe(false)
    const [first, second] = [
      await openGitView(projects.worktrees, inWorktree()),
      await openGitView(projects.worktrees, inWorktree()),
    ]
    await first.close()
    expect(existsSync(modules)).toBe(true)
    await second.close()
    expect(existsSync(modules)).toBe(false)
  })
})
