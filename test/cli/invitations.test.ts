import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'
import { registerConfirmed } from '../support/identity/registerConfirmed.ts'

const password = 'a long password'
let server: TestBoard
let ada: CommandLine
let bob: CommandLine
let tokens: { ada: string; bob: string }

beforeAll(async () => {
  server = await startBoard()
  await server.as().auth.setup({ email: 'root@example.org', password })
  const register = async (email: string) => (await registerConfirmed(server, { email, password })).token
  tokens = { ada: await register('ada@example.org'), bob: await register('bob@example.org') }
  ada = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: tokens.ada })
  bob = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: tokens.bob })
})
afterAll(async () => {
  for (const cli of [ada, bob]) cli.close()
  await server.close()
})

const newProject = async (name: string, of = tokens.ada, path = server.folder(name)) =>
  server.as(of).projects.create({ name, path })
const linkFile = (cli: CommandLine, link: string) => {
  const file = join(cli.home, 'link.txt')
  writeFileSync(file, `${link}\n`)
  return file
}

test('a link is printed once, alone with -q, and its recipient registers with it from a file', async () => {
  const { id } = await newProject('registered')
  const member = (...args: string[]) => ada.board(['projects', 'member', 'add', 'new@example.org', '-P', id, ...args])
  const invited = await member('--role', 'viewer')
  expect(invited.stderr).toMatch(
    /^Invited new@example\.org\. Share the link now, .*\nAfter they .*: board auth accept\n$/,
  )
  expect(invited.stdout).toContain('#invitation=svc_in_')
  expect(await member()).toMatchObject({ code: 5 })
  const link = (await member('--renew', '-q')).stdout
  expect(link).toMatch(new RegExp(`^${server.url}/#invitation=svc_in_\\w{33}\n$`))
  expect(invited.stdout).not.toContain(link.trim())
  const guest = commandLine({ BOARD_URL: server.url })
  try {
    const signUp = ['auth', 'register', '--email', 'guest@example.org', '--password-stdin', '--invitation-file']
    const made = await guest.board([...signUp, linkFile(guest, link)], { input: password })
    expect(made).toMatchObject({ code: 0 })
    expect(await guest.json(['projects', 'view', id])).toMatchObject({ role: 'viewer', accepted: true })
    expect((await guest.board([...signUp, '-'], { input: password })).code).toBe(2)
  } finally {
    guest.close()
  }
})

test('a link is accepted from a file, from stdin or on request, and never on another server', async () => {
  const projects = await Promise.all(['file', 'stdin', 'asked', 'elsewhere'].map(name => newProject(name)))
  const [file, stdin, asked, elsewhere] = await Promise.all(
    projects.map(async ({ id }) =>
      (await ada.ok(['projects', 'member', 'add', 'x@example.org', '-P', id, '-q'])).trim(),
    ),
  )
  const accept = (...args: string[]) => ['auth', 'accept', ...args]
  expect((await bob.board(accept('--invitation-file', linkFile(bob, file!)))).stderr).toBe(
    `You are in project ${projects[0]!.id} "file" (member), whose folder is ${projects[0]!.path}.\n`,
  )
  expect(await bob.json(accept('--invitation-file', '-'), { input: stdin!.split('=')[1] })).toMatchObject({
    id: projects[1]!.id,
  })
  const told = await onTerminal(accept(), {
    cwd: bob.home,
    env: bob.env,
    answers: [['Invitation link: ', `${asked}\r`]],
  })
  expect(told.code).toBe(0)
  expect(told.text).not.toContain('svc_in_')
  const other = elsewhere!.replace(server.url, 'http://other.example.org')
  expect(await bob.board(accept('--invitation-file', '-'), { input: other })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(
      /^board: the invitation is for http:\/\/other\.example\.org, .*\nspecify --url /,
    ) as string,
  })
  expect(await bob.board(accept())).toMatchObject({ code: 2, stderr: expect.stringContaining('--invitation-file') })
  expect((await bob.board(accept('--invitation-file', '-'), { input: 'nonsense' })).code).toBe(2)
  expect((await bob.board(accept('--invitation-file', '-'), { input: file })).code).toBe(3)
  expect((await bob.json<Array<{ id: string }>>(['projects', 'list'])).map(({ id }) => id)).toEqual(
    expect.arrayContaining(projects.slice(0, 3).map(({ id }) => id)),
  )
})

test('a project that another user created at my folder is ignored there until I accept it', async () => {
  const folder = server.folder('mine')
  const view = (cwd = folder) => bob.board(['projects', 'view', '--json', 'name'], { cwd })
  const squatting = await newProject('squatting', tokens.ada, folder)
  await server.as(tokens.ada).members.add({ id: squatting.id, email: 'bob@example.org' })
  const refused = await view()
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain(`board projects accept ${squatting.id}`)
  await newProject('mine', tokens.bob, folder)
  expect((await view()).stdout).toContain('"mine"')
  expect((await bob.board(['cards', 'add', 'Mine'], { cwd: folder })).stderr).toMatch(/^Added card \d+\.\n$/)
  expect((await server.as(tokens.ada).cards.list({ projectId: squatting.id })).length).toBe(0)
  expect(await bob.ok(['projects', 'view', squatting.id, '-q'])).toBe(`${squatting.id}\n`)
  await bob.ok(['projects', 'accept', squatting.id])
  const several = await bob.board(['cards', 'add', 'Whose?'], { cwd: folder })
  expect(several).toMatchObject({ code: 2, stdout: '' })
  expect(several.stderr).toContain('select one with -P')
  const told = await onTerminal(['cards', 'add', 'Chosen'], {
    cwd: folder,
    env: bob.env,
    answers: [['Which one: ', 'squatting\r']],
  })
  expect(told.code).toBe(0)
  expect((await server.as(tokens.ada).cards.list({ projectId: squatting.id })).map(({ title }) => title)).toEqual([
    'Chosen',
  ])
})

test('adding a card names its project if the folder is in projects of several owners', async () => {
  const outer = server.folder('outer')
  const inner = server.folder('outer/inner')
  const below = await newProject('inner', tokens.ada, inner)
  const { id } = await newProject('outer', tokens.bob, outer)
  await server.as(tokens.ada).members.add({ id: below.id, email: 'bob@example.org' })
  const added = () => bob.board(['cards', 'add', 'New'], { cwd: inner })
  expect((await added()).stderr).toMatch(/^Added card \d+\.\n$/)
  await bob.ok(['projects', 'accept', 'inner'])
  const { stderr } = await added()
  expect(stderr).toMatch(
    new RegExp(
      `^In project ${below.id} "inner"\\. This folder is also in ${id} "outer" of another owner: use -P to select it\\.\n`,
    ),
  )
})
