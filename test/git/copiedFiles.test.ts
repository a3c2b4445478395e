import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
} from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { commit, git, useProjects, write, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
let count = 0
beforeEach(async () => {
  count++
  project = await projects.project()
})

test('the ignored files that the project lists are copied, and no others', async () => {
  commit(project.path, '.gitignore', '.env*\nlocal/\nlinked\nout\n*.big\n')
  for (const path of ['.env', '.env.test', 'local/a', 'local/deep/b', 'app/.env', 'x.big'])
    write(project.path, path, `${path}\n`)
  write(project.path, 'untracked', 'x')
  write(projects.folder, `outside-${count}/secret`, 'secret')
  chmodSync(join(project.path, '.env'), 0o600)
  symlinkSync('.env', join(project.path, 'linked'))
  symlinkSync(join(projects.folder, `outside-${count}`), join(project.path, 'out'))
  symlinkSync(join(projects.folder, `outside-${count}/secret`), join(project.path, 'local/secret'))
  await project.set({
    copiedFiles: [
      '.env*',
      'local',
      'linked',
      'out',
      'out/secret',
      'untracked',
      'README',
      `../outside-${count}/secret`,
      '/etc/passwd',
      ':(top,exclude)x',
      '--output=x',
      '**/.env',
      '',
    ],
  })
  const { cwd } = await (await project.card()).start()
  expect(
    (readdirSync(cwd, { recursive: true }) as string[])
      .filter(path => !path.startsWith('.git/') && statSync(join(cwd, path)).isFile())
      .sort(),
  ).toEqual(
    ['.env', '.env.test', '.git', '.gitignore', 'README', 'app/.env', 'linked', 'local/a', 'local/deep/b'].sort(),
  )
  expect(readFileSync(join(cwd, 'linked'), 'utf8')).toBe('.env\n')
  expect(realpathSync(join(cwd, 'linked'))).toBe(join(realpathSync(cwd), 'linked'))
  expect(statSync(join(cwd, '.env')).mode & 0o777).toBe(0o600)
  expect(git(cwd, 'status', '--porcelain')).toBe('')
})

test('copies never leave the worktree through a committed link, and never replace a committed file', async () => {
  const outside = join(projects.folder, `elsewhere-${count}`)
  mkdirSync(outside)
  for (const path of ['config/.env', 'config/deep/.env']) write(project.path, path, 'secret\n')
  write(project.path, 'tracked', 'ignored\n')
  commit(project.path, '.gitignore', '.env\ntracked\n')
  const card = await project.card()
  // The commit has a link in place of a folder, and a file in place of another.
  const other = `${project.path}-other`
  git(project.path, 'worktree', 'add', '-q', '-b', 'other', other)
  symlinkSync(outside, join(other, 'config'))
  write(other, 'tracked', 'committed\n')
  git(other, 'add', '-f', 'config', 'tracked')
  git(other, 'commit', '-q', '-m', 'Link')
  git(project.path, 'update-ref', 'refs/heads/main', 'other')
  git(project.path, 'read-tree', 'HEAD~1')
  await project.set({ copiedFiles: ['config', 'tracked'] })
  const { cwd } = await card.start()
  expect(readdirSync(outside)).toEqual([])
  expect(readFileSync(join(cwd, 'tracked'), 'utf8')).toBe('committed\n')
})

/** Writes files that each contain their path. */
function writeAll(folder: string, paths: readonly string[]): void {
  for (const path of paths) write(folder, path, path)
}

/** The untracked files of a worktree. */
const copiesIn = (cwd: string) => git(cwd, 'ls-files', '--others').split('\n').filter(Boolean).sort()

const ignored = '.env*\n*.key\nsecrets/\nlogs/\n'
const ignoredFiles = [
  '.env',
  'sub/.env',
  'sub/.env.local',
  'a.key',
  'b.key',
  'secrets/one',
  'secrets/deep/two',
  'logs/x',
]

test.each<[string, string, string[], string[]]>([
  ['a name matches at any depth', '.env\n', [], ['.env', 'sub/.env']],
  ['a slash anchors a pattern', '/.env\nsub/*.local\n', [], ['.env', 'sub/.env.local']],
  ['a folder matches with all its files', 'secrets/\n', [], ['secrets/deep/two', 'secrets/one']],
  ['! excludes what a pattern before it matches', '*.key\n!b.key\n', [], ['a.key']],
  ['! before a pattern has no effect', '!b.key\n*.key\n', [], ['a.key', 'b.key']],
  ['comments and empty lines match nothing', '# .env\n\n   \n/.env\n', [], ['.env']],
  [
    'lines can end with CR LF, and a file with a byte order mark',
    '\ufeff.env\r\n*.key\r\n',
    [],
    ['.env', 'a.key', 'b.key', 'sub/.env'],
  ],
  ['a file without a line break at its end counts whole', '*.key\nlogs', [], ['a.key', 'b.key', 'logs/x']],
  ['a file that Git does not ignore is not copied', 'README*\n*.local\n', [], ['sub/.env.local']],
  ['copiedFiles add to the file', '/.env\n', ['a.key'], ['.env', 'a.key']],
  ['copiedFiles come after the file', '*.key\n/.env\n', ['!a.key', '!.env'], ['b.key']],
  ['copiedFiles alone have the same syntax', '', ['.env', '*.key', '!b.key'], ['.env', 'a.key', 'sub/.env']],
])('.worktreeinclude: %s', async (_name, include, copiedFiles, expected) => {
  commit(project.path, '.gitignore', ignored)
  if (include !== '') commit(project.path, '.worktreeinclude', include)
  writeAll(project.path, [...ignoredFiles, 'README.local'])
  await project.set({ copiedFiles })
  const { cwd } = await (await project.card()).start()
  expect(copiesIn(cwd)).toEqual(expected)
  for (const path of expected) expect(readFileSync(join(cwd, path), 'utf8')).toBe(path)
})

test('.worktreeinclude is read from the base commit, or untracked if no commit has it', async () => {
  commit(project.path, '.gitignore', ignored)
  writeAll(project.path, ignoredFiles)
  write(project.path, '.worktreeinclude', 'a.key\n')
  expect(copiesIn((await (await project.card()).start()).cwd)).toEqual(['a.key'])
  git(project.path, 'add', '.worktreeinclude')
  expect(copiesIn((await (await project.card()).start()).cwd)).toEqual([])
  git(project.path, 'commit', '-q', '-m', 'Include a.key')
  write(project.path, '.worktreeinclude', 'b.key\n')
  expect(copiesIn((await (await project.card()).start()).cwd)).toEqual(['a.key'])
  rmSync(join(project.path, '.worktreeinclude'))
  expect(copiesIn((await (await project.card()).start()).cwd)).toEqual(['a.key'])
})

test(".worktreeinclude of a card has no effect on the card's worktree", async () => {
  commit(project.path, '.gitignore', ignored)
  commit(project.path, '.worktreeinclude', 'a.key\n')
  writeAll(project.path, ignoredFiles)
  const card = await project.card()
  const { cwd } = await card.start()
  commit(cwd, '.worktreeinclude', '*\n')
  rmSync(cwd, { recursive: true })
  expect((await card.start()).cwd).toBe(cwd)
  expect(copiesIn(cwd)).toEqual(['a.key'])
})

test.each<[string, (folder: string) => void, string]>([
  [
    'a link in a commit',
    folder => (
      symlinkSync('README', join(folder, '.worktreeinclude')),
      git(folder, 'add', '.'),
      git(folder, 'commit', '-q', '-m', 'Link')
    ),
    'it is not a file',
  ],
  ['an untracked link', folder => symlinkSync('README', join(folder, '.worktreeinclude')), 'it is a link'],
  [
    'a large file in a commit',
    folder => commit(folder, '.worktreeinclude', 'a\n'.repeat(40_000)),
    'larger than 64 KiB',
  ],
  ['a large untracked file', folder => write(folder, '.worktreeinclude', 'a\n'.repeat(40_000)), 'larger than 64 KiB'],
])('.worktreeinclude that is %s stops the start with 409', async (_name, prepare, reason) => {
  prepare(project.path)
  await expect((await project.card()).start()).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(new RegExp(`^\\.worktreeinclude .*${reason}`)),
  })
})

test('a project in a subfolder copies files of the subfolder only, with its patterns relative to the subfolder', async () => {
  commit(project.path, '.gitignore', ignored)
  commit(project.path, '.worktreeinclude', '/apps/[web]/secrets/\n')
  const folder = join(project.path, 'apps/[web]')
  commit(folder, 'index', 'index')
  writeAll(project.path, ['.env', 'a.key', 'apps/a.key', 'apps/w/a.key', 'secrets/one'])
  writeAll(folder, ['.env', 'deep/.env', 'a.key', 'deep/a.key', 'secrets/one', 'secrets/a.key'])
  await project.set({ path: folder, copiedFiles: ['.env', '/a.key', '!secrets/one', 'deep/a.key'] })
  // A bracket of the folder's name in .worktreeinclude is a class of characters.
  const { cwd } = await (await project.card()).start()
  expect(copiesIn(cwd)).toEqual(['.env', 'a.key', 'deep/.env', 'deep/a.key'])
})

test("files of the board's own folders, and of the Git folder, are never copied", async () => {
  commit(project.path, '.gitignore', 'data/\nlink*\n')
  writeAll(project.path, ['data/board.db', 'data/worktrees/7/1/x', 'data/ok/x'])
  symlinkSync('.git/config', join(project.path, 'link'))
  symlinkSync('data/ok/x', join(project.path, 'link-to-data'))
  await project.set({ copiedFiles: ['data', 'link*'] })
  const { cwd } = await (await project.card()).start({ dataDir: join(project.path, 'data') })
  expect(readdirSync(cwd).sort()).toEqual(['.git', '.gitignore', 'README'])
})

test('files that the account ignores are copied', async () => {
  write(projects.home, 'git/ignore', '*.local\n')
  try {
    writeAll(project.path, ['a.local', 'b.other'])
    await project.set({ copiedFiles: ['a.*', 'b.*'] })
    expect(readdirSync((await (await project.card()).start()).cwd).sort()).toEqual(['.git', 'README', 'a.local'])
  } finally {
    rmSync(join(projects.home, 'git'), { recursive: true })
  }
})

test.each<[string, string, string[], RegExp]>([
  ['copiedFiles', '', ['.env', 'cache', '*.key'], /"cache" of copiedFiles .* 1000 files/],
  ['.worktreeinclude', '# caches\ncache/\n', ['.env'], /"cache\/" of \.worktreeinclude .* 1000 files/],
])(
  'too many files to copy name the pattern of %s before the worktree is used',
  async (_name, include, copiedFiles, message) => {
    commit(project.path, '.gitignore', 'cache\n.env\n')
    if (include !== '') commit(project.path, '.worktreeinclude', include)
    writeAll(project.path, ['.env', 'sub/.env', ...Array.from({ length: 1000 }, (_, index) => `cache/${index}`)])
    await project.set({ copiedFiles })
    await expect((await project.card()).start()).rejects.toMatchObject({
      code: 'CONFLICT',
      message: expect.stringMatching(message),
    })
  },
)

test('files that are too large in total name the pattern that matches most of the bytes', async () => {
  commit(project.path, '.gitignore', 'big\nsmall*\n')
  writeAll(project.path, ['big', 'small-1', 'small-2'])
  truncateSync(join(project.path, 'big'), 256 * 1024 * 1024)
  await project.set({ copiedFiles: ['small*', 'big'] })
  await expect((await project.card()).start()).rejects.toMatchObject({
    message: expect.stringMatching(/"big" of copiedFiles .* 256 MiB/),
  })
})

test('a more specific pattern lets a worktree start after too many files', async () => {
  commit(project.path, '.gitignore', 'cache\n')
  for (let index = 0; index < 1001; index++) write(project.path, `cache/${index}`, '')
  await project.set({ copiedFiles: ['cache'] })
  const card = await project.card()
  await expect(card.start()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('1000') })
  await project.set({ copiedFiles: ['cache/1*'] })
  expect(readdirSync(join((await card.start()).cwd, 'cache')).length).toBe(112)
})

describe('a copied file', () => {
  /** A card whose worktree has a copy of `.env`, although its base commit does not ignore the file. */
  const startWithCopy = async () => {
    write(project.path, '.git/info/exclude', '')
    write(project.path, '.gitignore', '.env\n')
    write(project.path, '.env', 'SECRET=1\n')
    await project.set({ copiedFiles: ['.env'] })
    const card = await project.card()
    const { cwd } = await card.start()
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe('SECRET=1\n')
    rmSync(join(project.path, '.gitignore'))
    return { card, cwd }
  }

  test.each<[string, (cwd: string) => void]>([
    ['that the commit does not ignore', () => {}],
    ['that changed', cwd => write(cwd, '.env', 'SECRET=2\n')],
    ['that the card stops ignoring', cwd => write(cwd, '.gitignore', '!.env\n')],
    ['that is staged', cwd => git(cwd, 'add', '-f', '.env')],
    ['that is staged and changed', cwd => (git(cwd, 'add', '-f', '.env'), write(cwd, '.env', 'SECRET=2\n'))],
    ['that is staged and deleted', cwd => (git(cwd, 'add', '-f', '.env'), rmSync(join(cwd, '.env')))],
    ['that is a link now', cwd => (rmSync(join(cwd, '.env')), symlinkSync('README', join(cwd, '.env')))],
  ])('%s is in no diff and in no commit of the board', async (_, change) => {
    const { card, cwd } = await startWithCopy()
    change(cwd)
    write(cwd, 'work', 'work\n')
    const { diff } = await card.diff()
    expect([diff.includes('+work'), diff.includes('b/.env'), diff.includes('SECRET')]).toEqual([true, false, false])
    rmSync(join(project.path, '.env'))
    await card.merge()
    expect(git(project.path, 'ls-tree', '--name-only', 'HEAD').split('\n')).toEqual(
      expect.not.arrayContaining(['.env']) as string[],
    )
    expect(git(project.path, 'log', '--all', '--oneline', '--', '.env')).toBe('')
  })

  test('does not keep a card from being deleted', async () => {
    const { card, cwd } = await startWithCopy()
    git(cwd, 'add', '-f', '.env')
    await card.remove()
    expect(existsSync(cwd)).toBe(false)
  })

  test('is in the diff after an agent commits it', async () => {
    const { card, cwd } = await startWithCopy()
    git(cwd, 'add', '-f', '.env')
    git(cwd, 'commit', '-q', '-m', 'Add .env')
    write(cwd, '.env', 'SECRET=2\n')
    expect((await card.diff()).diff).toContain('SECRET=2')
  })

  test('with a name that is a pattern excludes nothing else', async () => {
    commit(project.path, '.gitignore', 'conf*\n')
    write(project.path, 'conf[1]', 'secret\n')
    await project.set({ copiedFiles: ['conf*'] })
    const card = await project.card()
    const { cwd } = await card.start()
    write(cwd, '.gitignore', '')
    write(cwd, 'conf1', 'work\n')
    const { diff } = await card.diff()
    expect([diff.includes('+work'), diff.includes('secret')]).toEqual([true, false])
  })
})
