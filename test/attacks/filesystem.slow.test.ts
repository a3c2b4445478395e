import { execFileSync } from 'node:child_process'
import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startBoard, type Reply, type TestBoard } from '../support/servers/testBoard.ts'

const secret = 'not readable by any user'
let board: TestBoard
let root: string
let project: string
let token: string

beforeAll(async () => {
  board = await startBoard()
  root = board.folder('place')
  project = join(root, 'project')
  for (const folder of ['project', 'outside', 'project-evil']) mkdirSync(join(root, folder))
  for (const file of ['outside/secret', 'project-evil/secret']) writeFileSync(join(root, file), secret)
  writeFileSync(join(project, 'plain'), 'plain')
  const links = {
    'to-folder': '../outside',
    'to-file': '../outside/secret',
    absolute: join(root, 'outside/secret'),
    nowhere: '../outside/nothing',
    chain: 'to-folder',
    'to-root': '/',
    'to-itself': 'to-itself',
    own: 'plain',
  }
  for (const [name, target] of Object.entries(links)) symlinkSync(target, join(project, name))
  execFileSync('mkfifo', [join(project, 'pipe')])
  await board.as().auth.setup({ email: 'root@example.org', password: 'root password' })
  token = (await board.as().auth.register({ email: 'user@example.org', password: 'user password' })).token
  await board.as(token).projects.create({ name: 'Project', path: project })
})
afterAll(() => board.close())

const ask = (route: string, query: string, as = token): Promise<Reply> =>
  board.request('GET', `/api/filesystem/${route}?path=${query}`, { token: as })
const codeOf = ({ status, body }: Reply) => [status, body.error?.code]
const outside = [403, 'PATH_OUTSIDE_ROOTS']

it('files of the project can be read, also through a link inside it', async () => {
  for (const name of ['plain', 'own', './plain', '../project/plain'])
    expect((await ask('read', encodeURIComponent(`${project}/${name}`))).body.data.content, name).toBe('plain')
})

it.each<[string, () => string, unknown[]]>([
  ['dots', () => encodeURIComponent(`${project}/../outside/secret`), outside],
  ['encoded dots', () => `${project}/%2e%2e/outside/secret`, outside],
  ['dots that are encoded twice', () => `${project}/%252e%252e%252foutside%252fsecret`, [404, 'FILE_NOT_FOUND']],
  ['overlong UTF-8', () => `${project}/%c0%ae%c0%ae/outside/secret`, [404, 'FILE_NOT_FOUND']],
  ['backslashes', () => `${project}/..%5coutside%5csecret`, [404, 'FILE_NOT_FOUND']],
  ['NUL', () => `${project}/plain%00/../../outside/secret`, [400, 'VALIDATION_FAILED']],
  ['no slash at the start', () => 'place/outside/secret', [400, 'PATH_NOT_ABSOLUTE']],
  ['a URL', () => encodeURIComponent(`file://${root}/outside/secret`), [400, 'PATH_NOT_ABSOLUTE']],
  ['a home', () => '~/.ssh/id_ed25519', [400, 'PATH_NOT_ABSOLUTE']],
  ["a folder whose name begins like the project's", () => `${project}-evil/secret`, outside],
  ['two slashes', () => `//${root}/outside/secret`, outside],
  ["the system's accounts", () => '/etc/passwd', outside],
  ["the server's environment", () => '/proc/self/environ', outside],
  ["the server's root by its process", () => '/proc/self/root/etc/passwd', outside],
  ["the server's own files", () => join(board.dataDir, 'daemon.json'), outside],
  ['a link to a file', () => join(project, 'to-file'), outside],
  ['an absolute link', () => join(project, 'absolute'), outside],
  ['a link to a folder', () => join(project, 'to-folder/secret'), outside],
  ['a link to a link', () => join(project, 'chain/secret'), outside],
  ['a link to everything', () => join(project, 'to-root/etc/passwd'), outside],
  ['a link that leads nowhere outside', () => join(project, 'nowhere'), outside],
  ['a link to itself', () => join(project, 'to-itself'), [404, 'FILE_NOT_FOUND']],
])('neither reads nor lists through %s', async (_, query, refused) => {
  for (const route of ['read', 'browse']) {
    const reply = await ask(route, query())
    expect(codeOf(reply), route).toEqual(refused)
    expect(reply.text).not.toContain(secret)
  }
})

it('an operator cannot see the data folder either, under any name', async () => {
  symlinkSync(board.dataDir, join(project, 'to-data'))
  const { id } = await board.client.projects.create({ name: 'Above', path: join(board.dataDir, '..') })
  for (const path of [
    board.dataDir,
    join(board.dataDir, 'secret.key'),
    join(board.dataDir, 'daemon.json'),
    join(project, 'to-data/daemon.json'),
  ])
    expect(codeOf(await ask('read', encodeURIComponent(path), board.token)), path).toEqual([404, 'FILE_NOT_FOUND'])
  const { entries } = await board.client.filesystem.browse({ path: join(board.dataDir, '..') })
  expect(entries.map(({ path }) => path)).not.toContain(board.dataDir)
  await board.client.projects.delete({ id })
})

it('a pipe without a writer does not block requests', async () => {
  expect(codeOf(await ask('read', join(project, 'pipe')))).toEqual([400, 'VALIDATION_FAILED'])
})

it('a file or folder that is swapped for a link during a read never leads outside', async () => {
  mkdirSync(join(project, 'folder'))
  writeFileSync(join(project, 'folder/secret'), 'harmless')
  symlinkSync('../outside', join(project, 'folder-link'))
  let swapping = true
  const swap = async () => {
    while (swapping) {
      renameSync(join(project, 'folder'), join(project, 'folder-kept'))
      renameSync(join(project, 'folder-link'), join(project, 'folder'))
      await new Promise(setImmediate)
      renameSync(join(project, 'folder'), join(project, 'folder-link'))
      renameSync(join(project, 'folder-kept'), join(project, 'folder'))
      await new Promise(setImmediate)
    }
  }
  const swaps = swap()
  const answers = await Promise.all(
    Array.from({ length: 8 }, async () => {
      const seen: string[] = []
      for (let i = 0; i < 60; i++) seen.push((await ask('read', join(project, 'folder/secret'))).text)
      return seen
    }),
  )
  swapping = false
  await swaps
  expect(answers.flat().filter(text => text.includes(secret))).toEqual([])
  expect((await ask('read', join(project, 'folder/secret'))).body.data.content).toBe('harmless')
  rmSync(join(project, 'folder-link'))
})
