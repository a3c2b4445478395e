import { createLowlight } from 'lowlight'

/** It knows no language until it is given one. */
export const highlighter = createLowlight()
