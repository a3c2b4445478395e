import { Option, type Command } from 'commander'
import { readText } from './prompt.ts'

export interface PromptOptions {
  prompt?: string
  promptFile?: string
}

/** Adds `--prompt` and `--prompt-file`, which are mutually exclusive. */
export const addPromptOptions = (command: Command): Command =>
  command
    .addOption(new Option('--prompt <text>', 'prompt').conflicts('promptFile'))
    .addOption(new Option('-F, --prompt-file <file>', 'file with the prompt, or - for stdin'))

/** Returns the prompt from the options. Undefined if there is none. */
export const readPrompt = async ({ prompt, promptFile }: PromptOptions): Promise<string | undefined> =>
  promptFile === undefined ? prompt : readText(promptFile, '--prompt-file')
