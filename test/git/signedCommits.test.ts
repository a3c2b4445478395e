import { chmodSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { git, useProjects, write, type TestProject } from './cards.ts'

const projects = useProjects()
let project: TestProject
beforeEach(async () => {
  project = await projects.project()
  rmSync(join(projects.home, '.gitconfig'), { force: true })
})

/** A program that signs for Git like GnuPG, with its name and arguments as the signature. */
function program(name: string, script = 'echo "[GNUPG:] SIG_CREATED " >&2'): string {
  const path = join(projects.folder, name)
  write(
    projects.folder,
    name,
    `#!/bin/sh\ntouch "$0.ran"\ncat >/dev/null\necho "-----BEGIN PGP SIGNATURE-----"\necho "${name} $*"\n${script}\n`,
  )
  chmodSync(path, 0o700)
  return path
}
const configure = (text: string) => write(projects.home, '.gitconfig', text)

async function mergeCard(squash: boolean) {
  const card = await project.card()
  const { cwd } = await card.start()
  write(cwd, 'work', 'work\n')
  await card.merge({ squash })
}
/** The newest commits of main, each as Git stores it. */
const commits = (revisions: string) =>
  git(project.path, 'rev-list', revisions)
    .split('\n')
    .map(id => git(project.path, 'cat-file', 'commit', id))

test.each([
  [true, 1],
  [false, 2],
])('each commit of a merge has the signature of the account (squash: %s)', async (squash, expected) => {
  const before = git(project.path, 'rev-parse', 'HEAD')
  configure(`[commit]\ngpgSign = true\n[user]\nsigningKey = KEY\n[gpg]\nprogram = ${program('signer')}\n`)
  await mergeCard(squash)
  const made = commits(`${before}..main`)
  expect(made).toHaveLength(expected)
  for (const each of made)
    expect(each).toMatch(/^gpgsig -----BEGIN PGP SIGNATURE-----\n signer --status-fd=2 -bsau KEY$/m)
})

test.each([
  ['without the setting', ''],
  ['with the value false', '[commit]\ngpgSign = false\n'],
  ['with the value 0', '[commit]\ngpgSign = 0\n'],
])('no commit has a signature %s', async (_, text) => {
  configure(`${text}[user]\nsigningKey = KEY\n[gpg]\nprogram = ${program('signer')}\n`)
  await mergeCard(false)
  expect(git(project.path, 'cat-file', 'commit', 'main')).not.toContain('gpgsig')
})

test.each(['yes', 'on', '1', undefined])('the value %s of commit.gpgSign means true', async value => {
  configure(
    `[commit]\n${value === undefined ? 'gpgSign' : `gpgSign = ${value}`}\n[gpg]\nprogram = ${program('signer')}\n`,
  )
  await mergeCard(true)
  expect(git(project.path, 'cat-file', 'commit', 'main')).toContain('gpgsig')
})

test('a repository chooses the key and whether to sign, but not the program', async () => {
  configure(`[gpg]\nprogram = ${program('signer')}\n`)
  const planted = program('planted')
  for (const [name, value] of [
    ['commit.gpgSign', 'true'],
    ['user.signingKey', 'OWN'],
    ['gpg.program', planted],
    ['gpg.openpgp.program', planted],
    ['gpg.ssh.defaultKeyCommand', planted],
  ])
    git(project.path, 'config', name!, value!)
  await mergeCard(true)
  expect(git(project.path, 'cat-file', 'commit', 'main')).toContain('signer --status-fd=2 -bsau OWN')
  expect(existsSync(`${planted}.ran`)).toBe(false)
})

test('a merge that cannot be signed fails with 409 and the reason, and changes nothing', async () => {
  const before = git(project.path, 'rev-parse', 'main')
  configure(`[commit]\ngpgSign = true\n[gpg]\nprogram = ${program('locked', 'echo "no pinentry" >&2; exit 2')}\n`)
  await expect(mergeCard(true)).rejects.toMatchObject({
    code: 'CONFLICT',
    message: expect.stringMatching(/^The commit could not be signed, .*gpg failed to sign the data/),
  })
  expect(git(project.path, 'rev-parse', 'main')).toBe(before)
  expect(git(project.path, 'status', '--porcelain')).toBe('')
})

test('author.name and committer.email take precedence over user.name and user.email', async () => {
  configure(
    '[user]\nname = User\nemail = user@example.org\n[author]\nname = Author\n[committer]\nemail = committer@example.org\n',
  )
  await mergeCard(true)
  expect(git(project.path, 'log', '-1', '--format=%an <%ae> %cn <%ce>', 'main')).toBe(
    'Author <user@example.org> User <committer@example.org>',
  )
})
