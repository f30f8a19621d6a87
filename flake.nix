{
  description = "Kubernetes server-side apply: who owns a field, conflicts, and a test API server";

  inputs.nixpkgs.url = "github:NixOS/nixpkgs/nixos-unstable";

  outputs = { self, nixpkgs }:
    let
      systems = [ "x86_64-linux" "aarch64-linux" "x86_64-darwin" "aarch64-darwin" ];
      forEach = make: nixpkgs.lib.genAttrs systems (system: make nixpkgs.legacyPackages.${system});
    in
    {
      packages = forEach (pkgs: {
        default = pkgs.rustPlatform.buildRustPackage {
          pname = "fieldmanager";
          version = (builtins.fromTOML (builtins.readFile ./Cargo.toml)).workspace.package.version;
          src = self;
          cargoLock.lockFile = ./Cargo.lock;
          cargoBuildFlags = [ "-p" "fieldmanager-cli" ];
          # They start browsers and servers.
          doCheck = false;
          nativeBuildInputs = [ pkgs.protobuf ];
          meta.mainProgram = "fieldmanager";
        };
      });
    };
}
