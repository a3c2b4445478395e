import { chmodSync, existsSync, mkdirSync, writeFileSync, symlinkSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { builtIn } from '../../../src/agents/providers/builtInProviders.ts'
import type { ToolCall } from '../../agents-real/models/script.ts'
import { reportSkipped } from '../run/reportSkipped.ts'

/** The folder in which test/agents-real/package.json installs the agents. */
export const modules = resolve('test/agents-real/node_modules')
export const platform = `${process.platform}-${process.arch}`

/** A real agent: its program, the configuration of an account for a model server, and the form of its model's tool calls. */
export interface RealAgent {
  id: 'claude' | 'codex' | 'gemini' | 'copilot' | 'opencode' | 'qwen'
  /** The file to run, below the installed packages. */
  file: string
  /** The packages with platform binaries, if it has some; one of them is installed. */
  binaries?: readonly string[]
  /** The environment of an account that is configured for a model server. */
  account(url: string, key: string): Record<string, string>
  calls: {
    write(path: string, content: string): ToolCall
    run(command: string): ToolCall
    /** Runs a command that requires permission. If it is missing, `run` does. */
    runAsked?(command: string): ToolCall
    board(tool: string, input: object): ToolCall
  }
}

const call = (name: string, input: object): ToolCall => ({ name, input })
const boardCalls = (prefix: string) => (tool: string, input: object) => call(`${prefix}${tool}`, input)

export const realAgents: readonly RealAgent[] = [
  {
    id: 'claude',
    file: '@agentclientprotocol/claude-agent-acp/dist/index.js',
    binaries: [`@anthropic-ai/claude-agent-sdk-${platform}`],
    account: (url, key) => ({ ANTHROPIC_API_KEY: key, ANTHROPIC_BASE_URL: url }),
    calls: {
      write: (path, content) => call('Write', { file_path: path, content }),
      run: command => call('Bash', { command, description: 'A command' }),
      board: boardCalls('mcp__board__'),
    },
  },
  {
    id: 'codex',
    file: '@agentclientprotocol/codex-acp/dist/index.js',
    binaries: [`@openai/codex-${platform}`],
    account: (url, key) => ({
      CODEX_API_KEY: key,
      CODEX_CONFIG: JSON.stringify({
        model: 'scripted',
        model_provider: 'tests',
        model_providers: {
          tests: { name: 'tests', base_url: `${url}/v1`, env_key: 'CODEX_API_KEY', wire_api: 'responses' },
        },
      }),
    }),
    calls: {
      write: (path, content) => call('exec_command', { cmd: `cat > '${path}' <<'END'\n${content}END` }),
      run: cmd => call('exec_command', { cmd }),
      // In its own sandbox it runs without a question.
      runAsked: cmd =>
        call('exec_command', { cmd, sandbox_permissions: 'require_escalated', justification: 'It is needed.' }),
      board: boardCalls('mcp__board.'),
    },
  },
  {
    id: 'gemini',
    file: '@google/gemini-cli/bundle/gemini.js',
    account: (url, key) => ({ GEMINI_API_KEY: key, GOOGLE_GEMINI_BASE_URL: url }),
    calls: {
      write: (path, content) => call('write_file', { file_path: path, content }),
      run: command => call('run_shell_command', { command, description: 'A command' }),
      board: boardCalls('mcp_board_'),
    },
  },
  {
    id: 'copilot',
    file: '@github/copilot/npm-loader.js',
    binaries: [`@github/copilot-${platform}`],
    account: (url, key) => ({
      COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
      COPILOT_PROVIDER_API_KEY: key,
      COPILOT_MODEL: 'scripted',
    }),
    calls: {
      write: (path, file_text) => call('create', { path, file_text }),
      run: command => call('bash', { command, description: 'A command' }),
      board: boardCalls('board-'),
    },
  },
  {
    id: 'opencode',
    // The program of its own package is created by a postinstall script, which does not run.
    file: `opencode-${platform}/bin/opencode`,
    account: (url, key) => ({
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        model: 'tests/scripted',
        small_model: 'tests/scripted',
        provider: {
          tests: {
            npm: '@ai-sdk/openai-compatible',
            name: 'Tests',
            options: { baseURL: `${url}/v1`, apiKey: key },
            models: { scripted: { name: 'Scripted' }, second: { name: 'Second' } },
          },
        },
      }),
    }),
    calls: {
      write: (filePath, content) => call('write', { filePath, content }),
      run: command => call('bash', { command, description: 'A command' }),
      board: boardCalls('board_'),
    },
  },
  {
    id: 'qwen',
    file: '@qwen-code/qwen-code/cli.js',
    account: (url, key) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'scripted' }),
    calls: {
      write: (path, content) => call('write_file', { file_path: path, content }),
      run: command => call('run_shell_command', { command, description: 'A command', is_background: false }),
      board: boardCalls('mcp__board__'),
    },
  },
]

/** Returns the agent if its packages are installed. Otherwise, reports the missing packages and how to install them. */
export function installedAgent(id: RealAgent['id']): RealAgent | undefined {
  const agent = realAgents.find(each => each.id === id)!
  const missing = [agent.file, ...(agent.binaries ?? [])].filter(each => !existsSync(join(modules, each)))
  if (missing.length === 0) return agent
  reportSkipped(
    `Tests with ${id}`,
    `${missing.join(' and ')} is not installed. If the registry has it for ${platform}, run: npm install --prefix test/agents-real --ignore-scripts --no-save`,
  )
  return undefined
}

/** Creates a program that runs a command, because packages can have files without the right to be executed. */
export function writeProgram(path: string, words: readonly string[]): void {
  writeFileSync(path, `#!/bin/sh\nexec ${words.map(word => `'${word}'`).join(' ')} "$@"\n`)
  chmodSync(path, 0o755)
}

/** Creates a folder for the PATH in which the agent has the name of its command. `prefix` is a command that runs it. */
export function writeAgentScript(folder: string, { id, file }: RealAgent, prefix: readonly string[] = []): string {
  const name = builtIn.find(each => each.id === id)!.command[0]!
  mkdirSync(folder, { recursive: true })
  writeProgram(join(folder, name), [...prefix, join(modules, file)])
  return [folder, dirname(process.execPath), process.env.PATH].join(':')
}

/** Creates such a folder with a link, like npm does. */
export function linkAgent(folder: string, { id, file }: RealAgent): string {
  mkdirSync(folder, { recursive: true })
  symlinkSync(join(modules, file), join(folder, builtIn.find(each => each.id === id)!.command[0]!))
  return [folder, dirname(process.execPath), process.env.PATH].join(':')
}
