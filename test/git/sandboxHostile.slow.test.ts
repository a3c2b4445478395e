import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { deflateSync } from 'node:zlib'
import { beforeEach, describe, expect, test } from 'vitest'
import { commit, git, useProjects, unrecorded, type TestCard, type TestProject } from './cards.ts'
import { hasSandbox, openSession, type Session } from './sandboxSession.ts'

const projects = useProjects()
let project: TestProject
let card: TestCard
let worktree: string
let branch: string
let session: Session
/** A folder that the server can write, and the agent can reach only through the server. */
let victim: string
let count = 0
beforeEach(async () => {
  project = await projects.project(`hostile-${++count}`)
  git(project.path, 'branch', 'other')
  // The repository is a copy, so Git must refresh its index.
  git(project.path, 'status')
  card = await project.card()
  const started = await card.start()
  worktree = started.cwd
  branch = started.branch!
  victim = join(projects.folder, `victim-${count}`)
  mkdirSync(victim)
  if (hasSandbox) session = await openSession(projects.worktrees, place())
})

const tip = (ref = branch) => git(project.path, 'rev-parse', ref)
const gitDir = () => join(project.path, '.git')
/** The card's worktree. */
const place = () => ({ project: unrecorded(project.path), worktreePath: worktree, branch })
const common = () => join(gitDir(), 'board', readdirSync(join(gitDir(), 'board'))[0]!, 'common')
/** The names under which an agent's scripts access its Git folder, its own part of it, its branch and the victim. */
const names = () =>
  `G=${gitDir()}; A=$(git rev-parse --git-dir); R=$G/refs/heads/${branch}; V=${victim}; S=${join(victim, 'secret/.git')}\n`
const plant = (script: string) => session.run(names() + script)
/** Another repository, to which the agent has no access. @returns the object of a file there */
const makeSecret = () => {
  const path = join(victim, 'secret')
  mkdirSync(path)
  git(path, 'init', '-q', '--template=')
  commit(path, 'secret', 'secret\n')
  return git(path, 'rev-parse', 'HEAD:secret')
}
const has = (id: string) => {
  try {
    git(project.path, 'cat-file', '-e', id)
    return true
  } catch {
    return false
  }
}

describe.runIf(hasSandbox)('changes of an agent in its own Git folder', () => {
  test.each([
    ['is a link to a file', 'rm "$R"; ln -s /etc/hostname "$R"'],
    [
      'is a link to another branch',
      'git branch mine $(git commit-tree -m x HEAD^{tree}); rm "$R"; ln -s "$G"/refs/heads/mine "$R"',
    ],
    ['is a pipe', 'rm "$R"; mkfifo "$R"'],
    ['is a folder', 'rm "$R"; mkdir "$R"; echo x > "$R"/x'],
    ['is huge', 'truncate -s 100G "$R"'],
    ['points outside the folder', 'echo "ref: ../../../../../../etc/hostname" > "$R"'],
    [
      'points to another branch',
      'git branch mine $(git commit-tree -m x HEAD^{tree}); echo "ref: refs/heads/mine" > "$R"',
    ],
    ['is nonsense', 'printf "\\000\\001--help\\n" > "$R"'],
    ['is below a link out', 'mv "$(dirname "$R")" "$G"/was; ln -s "$V" "$(dirname "$R")"'],
    ['is below a pipe', 'rm -r "$(dirname "$R")"; mkfifo "$(dirname "$R")"'],
    ['is gone', 'rm -r "$(dirname "$R")" "$G"/packed-refs; mkfifo "$G"/packed-refs'],
    [
      'is deleted with all branches',
      'rm -r "$G"/refs "$G"/packed-refs; ln -s "$V" "$G"/refs; ln -s /etc/hostname "$G"/packed-refs',
    ],
  ])('a branch that %s is ignored, and restored from the repository in the next session', async (_, script) => {
    plant(script)
    await session.view.sync()
    const theirs = commit(worktree, 'theirs', 'theirs\n')
    await session.view.sync()
    expect(tip()).toBe(theirs)
    expect((await card.diff()).diff).toContain('+theirs')
    session = await openSession(projects.worktrees, place())
    expect(session.run('git rev-parse HEAD')).toBe(theirs)
    expect(readdirSync(victim)).toEqual([])
    session.run('echo a > a; git add a; git commit -qm a')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
  })

  test.each([
    ['names a file', 'echo x > x; git hash-object -w x > "$R"'],
    ['names a tag', 'git -c tag.forceSignAnnotated=false tag -a -m x x; git rev-parse x > "$R"'],
    [
      'lacks a file',
      'echo x > x; git add x; git commit -qm x; rm -f "$G"/objects/$(git rev-parse HEAD:x | sed "s#^..#&/#")',
    ],
    [
      'lacks a parent',
      'P=$(git commit-tree -m p HEAD^{tree}); X=$(git commit-tree -p $P -m x HEAD^{tree}); echo $X > "$R"; rm -f "$G"/objects/$(echo $P | sed "s#^..#&/#")',
    ],
    [
      'holds a file named .git',
      'T=$(git mktree < /dev/null); T=$(printf "040000 tree $T\\t.git\\n" | git mktree); git commit-tree -m x $T > "$R"',
    ],
    [
      'holds a path outside',
      'B=$(echo x | git hash-object -w --stdin); T=$(printf "100644 blob $B\\t..\\n" | git mktree); git commit-tree -m x $T > "$R"',
    ],
    [
      'is damaged',
      'echo x > x; git add x; git commit -qm x; F=$G/objects/$(git rev-parse HEAD | sed "s#^..#&/#"); chmod u+w $F; head -c 20 /dev/urandom > $F',
    ],
    [
      "takes another repository's objects by its list",
      'echo "$S"/objects > "$G"/objects/info/alternates; echo ../board-store/objects >> "$G"/objects/info/alternates; git update-index --add --cacheinfo 100644,$X,x; git commit -qm x',
    ],
    [
      "takes another repository's object by a link",
      'F=objects/$(echo $X | sed "s#^..#&/#"); mkdir -p "$(dirname "$G"/$F)"; ln -s "$S"/$F "$G"/$F; git update-index --add --cacheinfo 100644,$X,x; git commit -qm x',
    ],
    [
      "takes another repository's objects by a folder's link",
      'D=objects/$(echo $X | head -c 2); rm -rf "$G"/$D; ln -s "$S"/$D "$G"/$D; git update-index --add --cacheinfo 100644,$X,x; git commit -qm x || git commit -qm y',
    ],
  ])('a commit that %s is not exported', async (_, script) => {
    const before = tip()
    const secret = makeSecret()
    plant(`X=${secret}\n${script}`)
    expect(await session.view.sync()).toMatchObject({ state: 'refused' })
    expect(tip()).toBe(before)
    expect(has(secret)).toBe(false)
    expect(git(project.path, 'fsck', '--full')).toBe('')
    await card.diff()
    await expect(card.merge()).rejects.toMatchObject({ code: 'CONFLICT' })
    await expect(card.remove()).rejects.toMatchObject({ code: 'WORKTREE_DIRTY' })
    await card.remove(true)
    expect(existsSync(worktree)).toBe(false)
  })

  test.each([
    [
      'a cycle of stores',
      'echo "$G"/objects > "$G"/objects/info/alternates; echo ../board-store/objects >> "$G"/objects/info/alternates',
    ],
    [
      'pipes and links among the objects',
      'mkfifo "$G"/objects/pack/pack-00.idx "$G"/objects/pack/pack-00.pack; ln -s / "$G"/objects/zz; for D in 00 01 02 03; do [ -e "$G"/objects/$D ] || break; done; ln -s / "$G"/objects/$D',
    ],
    [
      'nonsense as a graph and an index of packs',
      'echo x > "$G"/objects/info/commit-graph; echo x > "$G"/objects/pack/multi-pack-index',
    ],
    [
      'another HEAD',
      'git symbolic-ref HEAD refs/heads/main; git reset -q --soft; git commit -q --allow-empty -m "Not mine"; git symbolic-ref HEAD "${R#$G/}"',
    ],
    ['a replaced object', 'git replace HEAD $(git commit-tree -m Replaced HEAD^{tree})'],
    [
      'programs',
      'git config core.fsmonitor "touch $V/ran"; git config core.sshCommand "touch $V/ran"; mkdir -p "$G"/hooks; printf "#!/bin/sh\\ntouch $V/ran" > "$G"/hooks/reference-transaction; chmod +x "$G"/hooks/*',
    ],
  ])('%s do not block a valid commit and change nothing else', async (_, script) => {
    const before = [tip('main'), tip('other')]
    plant('echo good > good; git add good; git commit -qm good')
    session.attempt(names() + script)
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'show', `${branch}:good`)).toBe('good')
    expect([tip('main'), tip('other')]).toEqual(before)
    await card.merge({ into: 'other' })
    expect(tip('main')).toBe(before[0])
    expect(readdirSync(victim)).toEqual([])
    expect(git(project.path, 'fsck', '--full', '--strict')).toBe('')
  })

  test.each([
    ['a pipe', 'rm "$A"/index; mkfifo "$A"/index'],
    ['a link', 'rm "$A"/index; ln -s /etc/hostname "$A"/index'],
    ['a folder', 'rm "$A"/index; mkdir "$A"/index'],
    ['nonsense', 'echo nonsense > "$A"/index'],
    ['of a missing file', 'echo lost > lost; git add lost; rm "$G"/objects/$(git rev-parse :lost | sed "s#^..#&/#")'],
    ['below a link', 'mv "$A" "$A".was || mv "$G"/worktrees "$G"/was; ln -s "$V" "$G"/worktrees'],
  ])('with an index that is %s, the files are still read', async (_, script) => {
    session.run('echo work > work')
    session.attempt(names() + script)
    expect((await card.diff()).diff).toContain('+work')
    await card.merge()
    expect(git(project.path, 'show', 'main:work')).toBe('work')
    expect(readdirSync(victim)).toEqual([])
  })

  test.each(['loose', 'packed'])('a forged %s object is not accepted', async how => {
    const readme = git(project.path, 'rev-parse', 'HEAD:README')
    const forged = Buffer.from('Forged.\n')
    if (how === 'loose') {
      const file = join(common(), 'objects', readme.slice(0, 2), readme.slice(2))
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, deflateSync(Buffer.concat([Buffer.from(`blob ${forged.length}\0`), forged])))
    } else forgePack(readme, forged)
    expect(session.run('git cat-file -p HEAD:README')).toBe('Forged.')
    session.run(`echo '${readme}' | git pack-objects -q objects || true; rm -f objects-*`)
    session.run('echo more >> README; git commit -qam more; git cat-file -p HEAD^:README > copy; git add copy')
    expect(await session.view.sync()).toEqual({ state: 'moved' })
    expect(git(project.path, 'cat-file', '-p', readme)).toBe('Read me.')
    expect((await card.diff()).diff).toContain(' Read me.\n+more\n')
    await card.merge()
    expect(readFileSync(join(project.path, 'README'), 'utf8')).toBe('Read me.\nmore\n')
    expect(git(project.path, 'fsck', '--full', '--strict')).toBe('')
  })
})

/** Adds a pack to the agent's store, with an index that gives an object the name of another one. */
function forgePack(name: string, content: Buffer): void {
  const sha = (...parts: Buffer[]) => createHash('sha1').update(Buffer.concat(parts)).digest()
  const word = (value: number) => {
    const buffer = Buffer.alloc(4)
    buffer.writeUInt32BE(value)
    return buffer
  }
  const head = Buffer.concat([Buffer.from('PACK'), word(2), word(1)])
  const body = Buffer.concat([head, Buffer.from([0x30 | content.length]), deflateSync(content)])
  const pack = Buffer.concat([body, sha(body)])
  const fanout = Array.from({ length: 256 }, (_, at) => word(at >= Number.parseInt(name.slice(0, 2), 16) ? 1 : 0))
  const index = Buffer.concat([
    Buffer.from([0xff, 0x74, 0x4f, 0x63]),
    word(2),
    ...fanout,
    Buffer.from(name, 'hex'),
    word(0),
    word(12),
    sha(body),
  ])
  const path = join(common(), 'objects/pack', `pack-${sha(body).toString('hex')}`)
  writeFileSync(`${path}.pack`, pack)
  writeFileSync(`${path}.idx`, Buffer.concat([index, sha(index)]))
}
