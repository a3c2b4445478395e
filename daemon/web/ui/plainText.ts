/** Terminal sequences that set colors and styles, move the cursor, or erase text. */
const styles = /\u001b\[[\d;:?]*[A-HJKSTfhlmnsu]/g
/** Controls other than tab and line feed. */
const controls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g
/** Characters that change the display order, so that a text looks like another one. */
const reordering = /[\u202a-\u202e\u2066-\u2069]/g

/**
 * Returns the text of a program or an agent without colors. All other control characters are shown as symbols, so that nothing
 * is hidden.
 */
export const plainText = (output: string): string =>
  output
    .replaceAll('\r\n', '\n')
    .replace(styles, '')
    .replace(reordering, '\ufffd')
    .replace(controls, control => {
      const code = control.charCodeAt(0)
      return code < 0x20 ? String.fromCharCode(0x2400 + code) : code === 0x7f ? '\u2421' : '\ufffd'
    })
