/**
 * The option of an agent's question that approving means. Undefined if no option or several options allow it once: a person has to choose
 * one then, because each of several is a different answer.
 */
export function approvingOption<T extends { kind: string }>(options: readonly T[]): T | undefined {
  const [only, another] = options.filter(({ kind }) => kind === 'allow_once')
  return another ? undefined : only
}

/** Whether a question has several answers, of which approving it does not choose one. */
export const hasSeveralAnswers = (options: ReadonlyArray<{ kind: string }>): boolean =>
  options.filter(({ kind }) => kind === 'allow_once').length > 1
