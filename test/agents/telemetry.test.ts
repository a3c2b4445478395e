import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { readAgents } from '../../src/agents/providers/configuredProviders.ts'
import { prepareLaunch } from '../../src/agents/providers/prepareLaunch.ts'

const folder = mkdtempSync(join(tmpdir(), 'board-telemetry-'))
afterAll(() => {
  rmSync(folder, { recursive: true, force: true })
})

async function environmentOf(id: string, config: object, env: NodeJS.ProcessEnv = {}) {
  const dataDir = mkdtempSync(join(folder, 'data-'))
  writeFileSync(join(dataDir, 'config.json'), JSON.stringify(config))
  const provider = (await readAgents(dataDir)).find(each => each.id === id)!
  const nothing = { profile: null, credential: null, board: null }
  const choice = { model: null, mode: null, effort: null }
  const request = { ...nothing, provider, choice, cwd: folder, dataDir, mode: 'work' as const }
  return (await prepareLaunch(request, env)).env
}

test('the telemetry of agents is also off for the account, until the operator enables it', async () => {
  const switches = {
    claude: 'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
    codex: 'CODEX_PATH',
    gemini: 'NODE_OPTIONS',
    opencode: 'OPENCODE_DISABLE_MODELS_FETCH',
    qwen: 'QWEN_CODE_SYSTEM_SETTINGS_PATH',
  }
  for (const [id, variable] of Object.entries(switches)) {
    expect(await environmentOf(id, {})).toHaveProperty(variable)
    expect(await environmentOf(id, { agentTelemetry: true })).not.toHaveProperty(variable)
  }
})

test("the account's own settings are kept", async () => {
  expect((await environmentOf('codex', {}, { CODEX_PATH: '/opt/codex' })).CODEX_PATH).toBe('/opt/codex')
})

test("settings for the session only are in the server's folder", async () => {
  const path = (await environmentOf('qwen', {})).QWEN_CODE_SYSTEM_SETTINGS_PATH!
  expect(existsSync(path)).toBe(true)
  expect(JSON.parse(readFileSync(path, 'utf8'))).toEqual({ privacy: { usageStatisticsEnabled: false } })
})
