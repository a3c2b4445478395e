import type { AgentProvider } from './agentProvider.ts'
import { claude } from './claude.ts'
import { codex } from './codex.ts'
import { copilot } from './copilot.ts'
import { cursor } from './cursor.ts'
import { gemini } from './gemini.ts'
import { goose } from './goose.ts'
import { opencode } from './opencode.ts'
import { qwen } from './qwen.ts'

/** The built-in agents. Without any preference, the first installed agent is chosen. */
export const builtIn: readonly AgentProvider[] = [claude, codex, gemini, copilot, opencode, qwen, goose, cursor]
