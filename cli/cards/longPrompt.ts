import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { maxPromptBytes } from '../../src/contract/fields.ts'
import type { Context } from '../context/context.ts'
import { readPrompt, type PromptOptions } from '../input/promptOption.ts'

/** A prompt that a card can have. */
export interface FittingPrompt {
  prompt: string | undefined
  /** The file with the prompt, to attach, if the prompt is too long for a card. */
  file?: string
}

/**
 * Passes the prompt on verbatim. If the file of `--prompt-file` is too long for a prompt, `use` gets the file to attach and a prompt that
 * refers to it, and a message on stderr reports this.
 */
export async function withFittingPrompt(
  { out }: Context,
  options: PromptOptions,
  use: (prompt: FittingPrompt) => Promise<void>,
): Promise<void> {
  const prompt = await readPrompt(options)
  const { promptFile } = options
  if (promptFile === undefined || prompt === undefined || Buffer.byteLength(prompt) <= maxPromptBytes)
    return use({ prompt })
  const attach = async (file: string) => {
    await use({ prompt: `The task is in the attached file ${basename(file)}.`, file })
    out.done(`The text is too long for a prompt, and was attached as ${basename(file)}.`)
  }
  if (promptFile !== '-') return attach(promptFile)
  const folder = await mkdtemp(join(tmpdir(), 'board-prompt-'))
  try {
    const file = join(folder, 'prompt.txt')
    await writeFile(file, prompt, { mode: 0o600 })
    await attach(file)
  } finally {
    await rm(folder, { recursive: true })
  }
}
