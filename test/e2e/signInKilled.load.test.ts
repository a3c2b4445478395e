import { randomInt } from 'node:crypto'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createClient, type Client } from '../../src/client/index.ts'
import { connectedApp, type ConnectedApp, type Tokens } from '../support/identity/connectedApp.ts'
import { boardProcess, clearAway } from '../support/processes/boardProcess.ts'
import { hideAgents, request, type Reply } from '../support/servers/testBoard.ts'
import { createDice } from './dice.ts'

/** BOARD_TEST_ROUNDS=100 for the long run; BOARD_TEST_SEED repeats a random run. */
const rounds = Number(process.env.BOARD_TEST_ROUNDS ?? 3)
const seed = Number(process.env.BOARD_TEST_SEED ?? randomInt(2 ** 31))
const dice = createDice(seed)
const root = mkdtempSync(join(tmpdir(), 'board-sign-in-'))
const dataDir = join(root, 'data')
const board = boardProcess(dataDir, { HOME: root })
let ada: string
/** The board of the current run. */
const door = {
  request: (method: string, path: string, options = {}): Promise<Reply> =>
    request(board.url, method, path, { token: null, ...options }),
  as: (token?: string): Client => createClient({ url: board.url, token }),
}

/** An app in the middle of its sign-in. */
interface Step {
  name: string
  app: ConnectedApp
  /** Sends the request of the step, also repeatedly. Undefined without a response. */
  ask(): Promise<Reply | undefined>
  /** The tokens of a successful response. */
  tokensOf(answer: Reply): Promise<Tokens>
  /** The error code of a repeated request that comes too late. */
  refusal: string
}

beforeAll(async () => {
  hideAgents(dataDir)
  await board.start()
  ada = (await door.as().auth.setup({ email: 'ada@example.org', password: 'a long password' })).token
})
afterAll(() => clearAway(board, root))

const unlessCut = (sent: Promise<Reply>): Promise<Reply | undefined> => sent.catch(() => undefined)
const works = async ({ access_token: token }: Tokens) => (await door.request('GET', '/api/auth/me', { token })).status
const told = ({ status, body }: Reply) => (status === 200 ? 'ok' : (body.error?.code ?? body.error))

const kinds: ReadonlyArray<(name: string, app: ConnectedApp) => Promise<Step>> = [
  async (name, app) => {
    const body = { request: await app.request(), access: 'work' }
    return {
      name,
      app,
      refusal: 'APP_REQUEST_ENDED',
      ask: () => unlessCut(door.request('POST', '/api/oauth/approve', { token: ada, body })),
      tokensOf: async ({ body: { data } }) => {
        const traded = await app.trade(new URL(data.redirectTo).searchParams.get('code')!)
        expect(told(traded), 'a code that was given is good after the crash').toBe('ok')
        return traded.body
      },
    }
  },
  async (name, app) => {
    const code = await app.code(ada)
    const ask = () => unlessCut(app.trade(code))
    return { name, app, refusal: 'invalid_grant', ask, tokensOf: async ({ body }) => body }
  },
  async (name, app) => {
    const { refresh_token: token } = await app.connect(ada)
    const ask = () => unlessCut(app.refresh(token))
    return { name, app, refusal: 'invalid_grant', ask, tokensOf: async ({ body }) => body }
  },
]

it(
  'an app whose sign-in is interrupted by a kill has working tokens, or gets an error to start again; a code counts once',
  { timeout: 300_000 + rounds * 60_000 },
  async () => {
    const apps: Array<[name: string, app: ConnectedApp]> = []
    for (let at = 0; at < 4 * kinds.length; at++)
      apps.push([`App ${at}`, await connectedApp(door, { client_name: `App ${at}` })])
    for (let round = 1; round <= rounds; round++) {
      const steps: Step[] = []
      for (const [at, [name, app]] of apps.entries()) steps.push(await kinds[(at + round) % kinds.length]!(name, app))
      const answers = await crashDuring(steps)
      await board.start()
      for (const [at, step] of steps.entries()) await check(step, answers[at], dice.chance(0.5))
    }
  },
)

/** Sends all steps concurrently, and kills the server after some responses. */
async function crashDuring(steps: readonly Step[]): Promise<Array<Reply | undefined>> {
  let left = dice.between(0, steps.length)
  let killed: Promise<unknown> | undefined
  const killOnceDue = () => {
    if (left-- <= 0) killed ??= board.end('SIGKILL')
  }
  const answers = await Promise.all(
    steps.map(async step => {
      await new Promise(resolve => setTimeout(resolve, dice.between(0, 20)))
      const answered = step.ask()
      killOnceDue()
      return answered
    }),
  )
  await (killed ?? board.end('SIGKILL'))
  return answers
}

async function check(step: Step, answered: Reply | undefined, asksAgain: boolean): Promise<void> {
  const { name, app, refusal } = step
  const about = `${name}, seed ${seed}`
  if (answered) expect(told(answered), about).toBe('ok')
  let tokens = answered && (await step.tokensOf(answered))
  if (tokens) expect(await works(tokens), `${about}: what was answered holds`).toBe(200)
  if (!tokens || asksAgain) {
    const again = (await step.ask())!
    const outcome = told(again)
    expect(tokens ? [refusal] : ['ok', refusal], about).toContain(outcome)
    if (outcome === 'ok') tokens = await step.tokensOf(again)
    else {
      if (tokens && refusal === 'invalid_grant') expect(await works(tokens), about).toBe(401)
      tokens = await app.connect(ada)
    }
  }
  expect(await works(tokens!), about).toBe(200)
  const families = (await door.as(ada).keys.list()).filter(key => key.name === name)
  expect(families, about).toHaveLength(1)
  expect(told((await step.ask())!), `${about}: it counts once`).toBe(refusal)
}
