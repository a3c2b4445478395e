import { GitFailed, GitMissing } from '../git/git.ts'
import { decodeError, encodeError, type EncodedError } from '../process/encodedError.ts'

/** A failure of an operation in transit from the process of a worktree. */
export type Failure = EncodedError | { kind: 'git'; reason: GitFailed['reason'] | 'missing'; message: string }

export function encodeFailure(error: unknown): Failure {
  if (error instanceof GitMissing) return { kind: 'git', reason: 'missing', message: error.message }
  if (error instanceof GitFailed) return { kind: 'git', reason: error.reason, message: error.message }
  return encodeError(error)
}

export function decodeFailure(failure: Failure): Error {
  if (failure.kind !== 'git') return decodeError(failure)
  const { reason, message } = failure
  return reason === 'missing' ? new GitMissing(new Error(message)) : new GitFailed(reason, message)
}
