import { createLowlight } from 'lowlight'

/** The highlighter, initially without languages. */
export const highlighter = createLowlight()
