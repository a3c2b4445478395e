import { createServer, request, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { commandLine, type CommandLine } from '../support/commands/commandLine.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { onTerminal } from '../support/terminals/onTerminal.ts'

let board: TestBoard
let cli: CommandLine
let line: Server
/** The number of responses to a POST that are lost. */
let lost = 0

beforeAll(async () => {
  board = await startBoard()
  const { port } = new URL(board.url)
  line = createServer((incoming, outgoing) => {
    const onwards = request(
      { host: '127.0.0.1', port, method: incoming.method, path: incoming.url, headers: incoming.headers },
      answer => {
        if (incoming.method === 'POST' && lost-- > 0) return void outgoing.socket!.destroy()
        outgoing.writeHead(answer.statusCode!, answer.headers)
        answer.pipe(outgoing)
      },
    )
    incoming.pipe(onwards)
  })
  await new Promise<void>(resolve => line.listen(0, '127.0.0.1', resolve))
  cli = commandLine({
    BOARD_URL: `http://127.0.0.1:${(line.address() as AddressInfo).port}`,
    BOARD_TOKEN: board.token,
  })
})
afterAll(async () => {
  cli.close()
  line.close()
  await board.close()
})

const create = (name: string) => ['keys', 'create', name, '--scope', 'server', '--permission', 'cards.read']
const named = async (name: string) => (await board.client.keys.list()).filter(key => key.name === name).length

test('a script whose response with a new key was lost learns that the key might exist', async () => {
  lost = 1
  const { code, stdout, stderr } = await cli.board(create('scripted'))
  expect({ code, stdout }).toEqual({ code: 7, stdout: '' })
  expect(stderr).toMatch(/\nthe request might have succeeded: check before you retry\nsee: board keys list\n$/)
  expect(await named('scripted')).toBe(1)
})

test('a user at a terminal is asked before a key is created a second time', async () => {
  const answering = (answer: string) =>
    onTerminal(create(`answered ${answer}`), {
      cwd: cli.home,
      env: { ...cli.env, NO_COLOR: '1' },
      answers: [['Send it again? [y/N]', `${answer}\r`]],
    })
  lost = 1
  const refused = await answering('n')
  expect([refused.code, await named('answered n')]).toEqual([7, 1])
  expect(refused.text).toContain('the request might have succeeded; to check: board keys list')
  lost = 1
  const again = await answering('y')
  expect([again.code, await named('answered y')]).toEqual([0, 2])
  expect(again.text).toContain('svc_ak_')
})
