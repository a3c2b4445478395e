/** A user name and a secret for Git over HTTP below one address. */
export interface GitCredential {
  url: string
  username: string
  password: string
}

const helper = `!f() { test "$1" = get || return 0; echo "username=$BOARD_GIT_USERNAME"; echo "password=$BOARD_GIT_PASSWORD"; }; f`

/**
 * Passes a credential to one run of Git: in its environment, and by a helper that responds only for this server, also after a redirect. The
 * account's helpers are disabled for this run, because they would store a working credential in plain text.
 */
export const withCredential = (
  credential: GitCredential | undefined,
): { args: readonly string[]; env: Record<string, string> } =>
  credential === undefined
    ? { args: [], env: {} }
    : {
        args: ['', helper].flatMap(each => ['-c', `credential.${new URL(credential.url).origin}.helper=${each}`]),
        env: { BOARD_GIT_USERNAME: credential.username, BOARD_GIT_PASSWORD: credential.password },
      }
