import { auth, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { Program } from '../support/identity/program.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'

let board: TestBoard
let ada: string
let aheadMs = 0

beforeAll(async () => {
  board = await startBoard({ clock: () => new Date(Date.now() + aheadMs) })
  ada = (await board.as().auth.setup({ email: 'ada@example.org', password: 'a long password' })).token
})
afterAll(() => board.close())

const serverUrl = () => new URL(`${board.url}/api/mcp`)
const connect = async (program: Program) => {
  const transport = new StreamableHTTPClientTransport(serverUrl(), { authProvider: program })
  const client = new Client({ name: 'probe', version: '1' })
  return { transport, client, connected: client.connect(transport) }
}
/** Acts as the user's browser and the page. */
const decide = async (program: Program, isAllowed: boolean): Promise<URL> => {
  const { status, headers } = await fetch(program.asked!, { redirect: 'manual' })
  expect(status).toBe(302)
  const request = new URL(headers.get('location')!).hash.replace('#/connect/', '')
  const { oauth } = board.as(ada)
  return new URL(
    (await (isAllowed ? oauth.approve({ request, access: 'work' }) : oauth.refuse({ request }))).redirectTo,
  )
}

it("the protocol's own client signs in, works, renews its tokens, and signs in again after a revocation", async () => {
  const program = new Program()
  const first = await connect(program)
  await expect(first.connected).rejects.toThrow(UnauthorizedError)
  expect(program.asked!.searchParams.get('resource')).toBe(serverUrl().href)
  expect(program.asked!.searchParams.get('code_challenge_method')).toBe('S256')
  const answer = await decide(program, true)
  expect(answer.searchParams.get('state')).toBe('of-the-program')
  await first.transport.finishAuth(answer.searchParams.get('code')!)
  const second = await connect(program)
  await second.connected
  const { tools } = await second.client.listTools()
  expect(Array.isArray(tools)).toBe(true)

  const before = program.kept.tokens
  aheadMs += 3_601_000
  await second.client.listTools()
  expect(program.kept.tokens.access_token).not.toBe(before.access_token)
  expect(program.kept.tokens.refresh_token).not.toBe(before.refresh_token)

  const [key] = await board.as(ada).keys.list()
  expect(key).toMatchObject({ name: 'Inspector', app: 'https://app.example.org' })
  await board.as(ada).keys.revoke({ id: key!.id })
  program.asked = undefined
  await expect(second.client.listTools()).rejects.toThrow()
  expect(program.asked).toBeDefined()
  await second.client.close()
})

it('a user who refuses leaves it without a token', async () => {
  const program = new Program()
  expect(await auth(program, { serverUrl: serverUrl() })).toBe('REDIRECT')
  const answer = await decide(program, false)
  expect([answer.searchParams.get('error'), answer.searchParams.get('code')]).toEqual(['access_denied', null])
  expect(program.tokens()).toBe(undefined)
})

it('a code of another sign-in is rejected because the verifier does not match', async () => {
  const [program, other] = [new Program(), new Program()]
  for (const each of [program, other]) await auth(each, { serverUrl: serverUrl() })
  const code = (await decide(other, true)).searchParams.get('code')!
  await expect(auth(program, { serverUrl: serverUrl(), authorizationCode: code })).rejects.toThrow()
  expect(program.tokens()).toBe(undefined)
})
