import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'

const password = 'a long password'
let server: TestBoard
let cli: CommandLine

beforeAll(async () => {
  server = await startBoard()
  const { token } = await server.as().auth.setup({ email: 'ada@example.org', password })
  cli = commandLine({ BOARD_URL: server.url, BOARD_TOKEN: token })
})
afterAll(async () => {
  cli.close()
  await server.close()
})

test('sign-ins are listed with the program that created them, and ended', async () => {
  const other = commandLine({ BOARD_URL: server.url })
  try {
    const login = ['auth', 'login', '--email', 'ada@example.org', '--password-stdin']
    expect((await other.board(login, { input: password })).code).toBe(0)
    const [theirs, mine] = await cli.json<Array<{ id: string; current: boolean; client: string }>>(['auth', 'sessions'])
    expect([theirs!.current, mine!.current]).toEqual([false, true])
    expect(theirs!.client).toMatch(/^board\/\d/)
    expect((await cli.board(['auth', 'sessions', '--end', theirs!.id])).stderr).toBe(`Ended sign-in ${theirs!.id}.\n`)
    expect((await cli.board(['auth', 'sessions', '--end', theirs!.id])).code).toBe(3)
    expect((await other.board(['whoami'])).code).toBe(4)
  } finally {
    other.close()
  }
})

test('a password is changed from stdin, or with prompts for the current one and twice for the new one', async () => {
  const change = (input: string) => cli.board(['auth', 'password', '--password-stdin'], { input })
  expect((await change(`wrong password\nnext password 1\n`)).code).toBe(4)
  expect(await change(`${password}\nnext password 1\n`)).toMatchObject({
    code: 0,
    stderr: 'Changed the password. All other sign-ins of the account have ended.\n',
  })
  const told = await onTerminal(['auth', 'password'], {
    cwd: cli.home,
    env: cli.env,
    answers: [
      ['Current password: ', 'next password 1\r'],
      ['Password (at least 8 characters): ', 'next password 2\r'],
      ['Repeat the password: ', 'next password 2\r'],
    ],
  })
  expect(told.code).toBe(0)
  expect(told.text).not.toContain('next password')
  expect((await server.as().auth.login({ email: 'ada@example.org', password: 'next password 2' })).token).toBeTruthy()
  expect(await cli.board(['auth', 'password'])).toMatchObject({ code: 2 })
})
