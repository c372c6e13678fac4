"""Deploys a build once a person has approved it: python3 deploy.py build-7"""
import os
import sys

from gate import Gate, Refused


def deploy(build, to):
    """Stands for your deployment: adds a line to a file."""
    with open(os.environ.get("DEPLOYED", "deployed.txt"), "a") as file:
        file.write(f"{build} to {to}\n")
    if os.environ.get("CRASH"):
        os.kill(os.getpid(), 9)


def main(build):
    gate = Gate(os.environ["COUNTERSIGN_URL"], os.environ["COUNTERSIGN_TOKEN"])
    asked = {"build": build, "to": "production"}
    lease = int(os.environ.get("LEASE", "600"))
    try:
        with gate.start("deploy", asked, key=build, title=f"Deploy {build}", risk="high", lease=lease) as call:
            deploy(**call.input)
            call.output = {"deployed": True}
    except Refused as refused:
        if refused.call["status"] == "done":
            print(f"{build} was deployed before.")
            return 0
        print(f"Not deployed: {refused} {refused.call.get('reason', '')}")
        return 1
    print(f"{build} is deployed.")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
