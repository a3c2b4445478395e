import { chmodSync, mkdirSync, readdirSync, readFileSync, realpathSync, statSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { commit, git, openProjects, write, type TestProject } from './cards.ts'

let projects: Awaited<ReturnType<typeof openProjects>>
let project: TestProject
let count = 0
beforeAll(async () => {
  projects = await openProjects()
})
afterAll(() => projects.close())
beforeEach(async () => {
  project = await projects.project(`project-${++count}`)
})

test('ignored files that the project lists are copied in, and nothing else', async () => {
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

test('copies never leave the worktree by a link that is committed, and never replace a committed file', async () => {
  const outside = join(projects.folder, `elsewhere-${count}`)
  mkdirSync(outside)
  for (const path of ['config/.env', 'config/deep/.env']) write(project.path, path, 'secret\n')
  write(project.path, 'tracked', 'ignored\n')
  commit(project.path, '.gitignore', '.env\ntracked\n')
  const card = await project.card()
  // The commit has a link where the project's folder has a folder, and a file where it has another.
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

test('too many files to copy are told before the worktree is used', async () => {
  commit(project.path, '.gitignore', 'cache\n')
  for (let index = 0; index < 1001; index++) write(project.path, `cache/${index}`, '')
  await project.set({ copiedFiles: ['cache'] })
  const card = await project.card()
  await expect(card.start()).rejects.toMatchObject({ code: 'CONFLICT', message: expect.stringContaining('1000') })
  await project.set({ copiedFiles: ['cache/1*'] })
  expect(readdirSync(join((await card.start()).cwd, 'cache')).length).toBe(112)
})
