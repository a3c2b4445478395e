import type { ApprovalPolicy } from '../../contract/agents/approvalPolicy.ts'

/** An action for which an agent's program asks permission. */
export interface AskedAction {
  about: 'command' | 'edit' | 'read' | 'plan' | 'unsandboxed' | 'question' | 'other'
  command: string | null
  /** Whether all the files concerned are inside the session's folder. */
  isInsideFolder: boolean
}
/** `ask`: a user decides. */
export type PolicyVerdict = 'ask' | 'allow' | 'refuse'

/** A word of a command. With `isPattern`, the shell can expand it to any word. */
interface Word {
  text: string
  isPattern: boolean
}

/**
 * Applies a project's policy to an agent's request. Policies never answer plans, questions and commands outside the sandbox.
 * `allow_in_worktree` applies to files that an agent reads or edits itself, not to shell commands, because their files are unknown.
 */
export function decideByPolicy(policy: ApprovalPolicy, { about, command, isInsideFolder }: AskedAction): PolicyVerdict {
  if (about === 'plan' || about === 'question' || about === 'unsandboxed') return 'ask'
  if (about === 'command' && command !== null) {
    const words = simpleWords(command)
    if (isRefused(policy.refuse, command, words)) return 'refuse'
    if (words && isAllowed(policy, words)) return 'allow'
  }
  if (policy.default === 'allow_in_worktree')
    return (about === 'edit' || about === 'read') && isInsideFolder ? 'allow' : 'ask'
  return policy.default
}

/** A command that is not simple is refused if one of its parts is refused, as far as they can be separated. */
function isRefused(prefixes: readonly string[], command: string, words: readonly Word[] | null): boolean {
  const parts = words ? [words] : command.split(/[;&|`<>(){}\n\r$]+/).map(part => looseWords(part))
  return prefixes.some(prefix => parts.some(part => startsWith(part, prefix)))
}

/** A pattern can expand to a refused word. */
function isAllowed({ allow, refuse }: ApprovalPolicy, words: readonly Word[]): boolean {
  const mayBeRefused = refuse.some(prefix => startsWith(words, prefix, true))
  return !mayBeRefused && allow.some(prefix => startsWith(words, prefix))
}

function startsWith(words: readonly Word[], prefix: string, orMay = false): boolean {
  const wanted = prefix.split(' ')
  return (
    wanted.length <= words.length &&
    wanted.every((word, at) => (words[at]!.isPattern ? orMay : words[at]!.text === word))
  )
}

/** Characters that can turn a command into more than one program with its arguments. */
const notSimple = /[;&|`$<>\\\p{Cc}\p{Cf}\u2028\u2029]/u
const token = /'([^']*)'|"([^"]*)"|([^\s'"]+)/y

/** Splits a command into words as a shell does. Null for a command that is not simple. */
function simpleWords(command: string): Word[] | null {
  if (notSimple.test(command.replaceAll('\t', ' '))) return null
  const words: Word[] = []
  for (const part of splitWords(command)) {
    const word = wordOf(part)
    if (!word) return null
    words.push(word)
  }
  return words.length > 0 ? words : null
}

/** The parts between unquoted spaces. */
const splitWords = (command: string): string[] => command.match(/(?:'[^']*'|"[^"]*"|[^ \t])+/g) ?? []

/** A word without its quotes. Null for an unclosed quote, or if the shell would expand the word. */
function wordOf(part: string): Word | null {
  let [text, isPattern] = ['', false]
  token.lastIndex = 0
  while (token.lastIndex < part.length) {
    const found = token.exec(part)
    if (!found) return null
    const [, single, double, bare] = found
    if (bare !== undefined && /[(){}!#]/.test(bare)) return null
    isPattern ||= bare !== undefined && /[*?[\]~^%]/.test(bare)
    text += single ?? double ?? bare
  }
  return { text, isPattern }
}

/** The words of a part of a command, without quotes and variable assignments. */
const looseWords = (part: string): Word[] =>
  part
    .replaceAll(/['"\\]/g, '')
    .split(/\s+/)
    .filter(Boolean)
    .filter((_, at, all) => !all.slice(0, at + 1).every(each => /^\w+=/.test(each)))
    .map(text => ({ text, isPattern: false }))
