import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { codexExec, documentedFor, installedPrograms, makeHome, type Home } from '../support/agents/mcpClients.ts'
import { noBrowser, visitors } from '../support/browsers/browser.ts'
import { choose } from '../support/browsers/choose.ts'
import { startBoard, type TestBoard } from '../support/servers/testBoard.ts'
import { eventually } from '../support/waiting/eventually.ts'
import { startModelServer, type ModelServer } from './models/modelServer.ts'

const installed = installedPrograms()

describe.skipIf(noBrowser !== undefined)('signs in with the browser, and reports the end of the sign-in', () => {
  const visit = visitors()
  let board: TestBoard
  let model: ModelServer
  let ada: string
  let root: string

  beforeAll(async () => {
    root = mkdtempSync(join(tmpdir(), 'board-sign-in-'))
    model = await startModelServer()
    board = await startBoard()
    ada = (await board.as().auth.setup({ email: 'ada@example.org', password: 'a long password' })).token
    await board.as(ada).projects.create({ name: 'Roof', path: board.folder('roof') })
  })
  afterAll(async () => {
    await board.close()
    await model.close()
    rmSync(root, { recursive: true, force: true, maxRetries: 5 })
  })

  /** Runs a command that sends the user to the browser, where the user allows the request. */
  async function allowing(home: Home, line: string): Promise<string> {
    const before = home.opened().length
    const done = home.ok(line)
    done.catch(() => {})
    const asked = await eventually('the address for the browser', () => home.opened()[before], 60_000)
    const redirect = new URL(new URL(asked).searchParams.get('redirect_uri')!)
    const { page } = await visit({ url: board.url, token: ada }, { elsewhere: redirect.origin })
    await page.getByText('Roof').first().waitFor()
    await page.goto(asked)
    await choose(page.getByLabel('Access', { exact: true }), 'Read, and work on cards')
    await page.getByRole('button', { name: 'Allow' }).click()
    await page.waitForURL(url => url.origin === redirect.origin)
    return done
  }
  const keysOf = async (app: string) => (await board.as(ada).keys.list()).filter(({ name }) => name === app)
  /** Whether the model of the program receives the project when it lists the projects. */
  async function seesProject(home: Home, tool: string, ask: string): Promise<boolean> {
    model.play({ calls: [{ name: tool, input: {} }] }, { text: 'These are all.' })
    const from = model.asked.length
    await home.ok(ask)
    return model.asked
      .slice(from)
      .some(({ body }) => JSON.stringify(body).replaceAll('\\', '').includes('"name":"Roof"'))
  }

  test.skipIf(!installed.includes('codex'))('Codex', async () => {
    const home = makeHome(join(root, 'codex'), model.url)
    await allowing(home, documentedFor('Connect', 'Codex', board.url)[0]!)
    expect(await home.ok('codex mcp list')).toMatch(/board .*enabled +OAuth/)
    const ask = codexExec(model.url, 'Which projects are there?')
    expect(await seesProject(home, 'mcp__board.list_projects', ask)).toBe(true)
    const keys = await keysOf('Codex')
    expect(keys).toMatchObject([{ app: 'http://127.0.0.1' }])
    await board.as(ada).keys.revoke({ id: keys[0]!.id })
    expect(await seesProject(home, 'mcp__board.list_projects', ask)).toBe(false)
    expect(await home.ok(ask)).toMatch(/AuthRequired/)
    await allowing(home, 'codex mcp login board')
    expect(await seesProject(home, 'mcp__board.list_projects', ask)).toBe(true)
  })

  test.skipIf(!installed.includes('opencode'))('opencode', async () => {
    const home = makeHome(join(root, 'opencode'), model.url)
    const tests = {
      npm: '@ai-sdk/openai-compatible',
      options: { baseURL: `${model.url}/v1`, apiKey: 'sk-of-opencode' },
      models: { scripted: { name: 'Scripted' } },
    }
    const settings = JSON.parse(documentedFor('Connect', 'opencode', board.url).at(-1)!)
    const scripted = { model: 'tests/scripted', small_model: 'tests/scripted', provider: { tests } }
    writeFileSync(join(home.work, 'opencode.json'), JSON.stringify({ ...settings, ...scripted }))
    expect(await home.ok('opencode mcp list')).toContain('needs authentication')
    expect(await allowing(home, 'opencode mcp auth board')).toContain('Authentication successful')
    expect(await home.ok('opencode mcp list')).toMatch(/board .*connected/)
    const ask = "opencode run 'Which projects are there?'"
    expect(await seesProject(home, 'board_list_projects', ask)).toBe(true)
    const keys = await keysOf('OpenCode')
    expect(keys).toMatchObject([{ app: 'http://127.0.0.1' }])
    await board.as(ada).keys.revoke({ id: keys[0]!.id })
    expect(await home.ok('opencode mcp list')).toContain('needs authentication')
    expect(await seesProject(home, 'board_list_projects', ask)).toBe(false)
  })
})
