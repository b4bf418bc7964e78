import type { RegisterCommand } from '../command.js'
export const registerReconcile: RegisterCommand = () => undefined
