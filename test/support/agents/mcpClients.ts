import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { run } from '../commands/commandLine.ts'
import type { Ran } from '../commands/commandWorker.ts'
import { installedAgent, modules, platform, writeProgram } from './realAgents.ts'

const codexTriple = `${{ x64: 'x86_64', arm64: 'aarch64' }[process.arch as string]}-unknown-linux-musl`

/** The programs that users run, below the installed packages. */
const files = {
  claude: `@anthropic-ai/claude-agent-sdk-${platform}/claude`,
  codex: `@openai/codex-${platform}/vendor/${codexTriple}/bin/codex`,
  qwen: '@qwen-code/qwen-code/cli.js',
  gemini: '@google/gemini-cli/bundle/gemini.js',
  copilot: '@github/copilot/npm-loader.js',
  opencode: `opencode-${platform}/bin/opencode`,
}
/** A user's program that uses the board as tools. */
export type McpProgram = keyof typeof files

/** An account of a user with these programs and the command line, and an otherwise empty home. */
export interface Home {
  folder: string
  /** The default working folder of programs. */
  work: string
  /** Runs a shell line; `input` is its stdin. */
  run(line: string, options?: LineOptions): Promise<Ran>
  /** Runs a line and returns its output. @throws Error with the output unless the line exits with 0 */
  ok(line: string, options?: LineOptions): Promise<string>
  /** The addresses that programs have opened in the user's browser. */
  opened(): string[]
}
interface LineOptions {
  cwd?: string
  env?: Record<string, string>
  input?: string
}

/** The names of the installed programs; a line on stderr lists the missing ones. */
export const installedPrograms = (): McpProgram[] =>
  (Object.keys(files) as McpProgram[]).filter(name => installedAgent(name) !== undefined)

const commandOf = (file: string) => (file.endsWith('.js') ? [process.execPath, file] : [file])

/** Creates an empty home with the programs on its PATH, each configured for its model at `model`. */
export function makeHome(folder: string, model: string): Home {
  const [bin, work] = [join(folder, 'bin'), join(folder, 'work')]
  for (const each of [bin, work]) mkdirSync(each, { recursive: true })
  for (const [name, file] of Object.entries(files)) writeProgram(join(bin, name), commandOf(join(modules, file)))
  writeProgram(join(bin, 'board'), commandOf(resolve('bin/board.js')))
  const [browser, opened] = [join(bin, 'xdg-open'), join(folder, 'opened')]
  writeFileSync(browser, `#!/bin/sh\necho "$1" >> '${opened}'\n`, { mode: 0o755 })
  const env = {
    PATH: [bin, dirname(process.execPath), process.env.PATH].join(':'),
    HOME: folder,
    BROWSER: browser,
    TERM: 'dumb',
    NO_COLOR: '1',
    ANTHROPIC_API_KEY: 'sk-of-claude',
    ANTHROPIC_BASE_URL: model,
    CODEX_API_KEY: 'sk-of-codex',
    OPENAI_API_KEY: 'sk-of-qwen',
    OPENAI_BASE_URL: `${model}/v1`,
    OPENAI_MODEL: 'scripted',
    GEMINI_API_KEY: 'key-of-gemini',
    GOOGLE_GEMINI_BASE_URL: model,
  }
  const runLine: Home['run'] = (line, { cwd = work, env: more = {}, input } = {}) =>
    run('sh', ['-c', line], { cwd, env: { ...env, ...more }, input })
  return {
    folder,
    work,
    run: runLine,
    async ok(line, options) {
      const { code, stdout, stderr } = await runLine(line, options)
      if (code !== 0) throw new Error(`${line} ended with ${code}:\n${stdout}${stderr}`)
      return `${stdout}${stderr}`
    },
    opened: () => (existsSync(opened) ? readFileSync(opened, 'utf8').split('\n').filter(Boolean) : []),
  }
}

/** A command line that makes Codex perform a task without a user, with a model of the tests. */
export function codexExec(model: string, asked: string, ...settings: string[]): string {
  const provider = { name: 'tests', base_url: `${model}/v1`, env_key: 'CODEX_API_KEY', wire_api: 'responses' }
  const all = [
    'model="scripted"',
    'model_provider="tests"',
    ...Object.entries(provider).map(([name, value]) => `model_providers.tests.${name}="${value}"`),
    ...settings,
  ]
  return `codex exec --skip-git-repo-check ${all.map(each => `-c '${each}'`).join(' ')} '${asked}'`
}

/** The instructions of docs/mcp.md for a program: the code in its row of the table below a heading, for a board at `url`. */
export function documentedFor(heading: string, program: string, url: string): string[] {
  const [, section = ''] = readFileSync('docs/mcp.md', 'utf8').split(`\n## ${heading}\n`)
  const row = section
    .split('\n## ')[0]!
    .split('\n')
    .find(line => line.startsWith(`| ${program} |`))
  if (!row) throw new Error(`docs/mcp.md has no row for ${program} below ${heading}`)
  return [...row.matchAll(/`([^`]+)`/g)].map(([, code]) => code!.replaceAll('http://127.0.0.1:4400', url))
}
