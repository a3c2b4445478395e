import { usage } from './exit.ts'

/**
 * Compiles a jq expression.
 * @throws Failure (usage) when the expression is not valid; the returned function throws one when it does not fit the input.
 */
export async function compile(expression: string): Promise<(input: unknown) => unknown[]> {
  throw usage(`--jq is not there yet: ${expression}`)
}
