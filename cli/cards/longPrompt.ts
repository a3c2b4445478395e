import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { maxPromptBytes } from '../../src/contract/fields.ts'
import { promptOf, type PromptOptions } from '../input/promptOption.ts'

/** A prompt that a card can have. */
export interface FittingPrompt {
  prompt: string | undefined
  /** The file to attach that holds the prompt itself, if it is too long for a card. */
  file?: string
}

/** The prompt as typed. If the file of `--prompt-file` is too long for a prompt, it is to be attached, and the prompt refers to it. */
export async function withFittingPrompt<T>(
  options: PromptOptions,
  use: (prompt: FittingPrompt) => Promise<T>,
): Promise<T> {
  const prompt = await promptOf(options)
  const { promptFile } = options
  if (promptFile === undefined || prompt === undefined || Buffer.byteLength(prompt) <= maxPromptBytes)
    return use({ prompt })
  if (promptFile !== '-') return use({ prompt: reference(promptFile), file: promptFile })
  const folder = await mkdtemp(join(tmpdir(), 'board-prompt-'))
  try {
    const file = join(folder, 'prompt.txt')
    await writeFile(file, prompt, { mode: 0o600 })
    return await use({ prompt: reference(file), file })
  } finally {
    await rm(folder, { recursive: true })
  }
}

const reference = (file: string): string => `The task is in the attached file ${basename(file)}.`
